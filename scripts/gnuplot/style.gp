# SPDX-License-Identifier: BSD-3-Clause
# Colours that stay apart for colour-blind readers (Okabe and Ito), one line style a method.
array C[12] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7B3294", "#A6761D", "#666666", "#999933", "#E7298A"]
COLOR1 = C[1]; COLOR2 = C[2]; COLOR3 = C[3]; COLOR4 = C[4]; COLOR5 = C[5]; COLOR6 = C[6]
COLOR7 = C[7]; COLOR8 = C[8]; COLOR9 = C[9]; COLOR10 = C[10]; COLOR11 = C[11]; COLOR12 = C[12]
set style line 1 lc rgb COLOR1 pt 7 lw 2
set style line 2 lc rgb COLOR2 pt 5 lw 2
set style line 3 lc rgb COLOR3 pt 9 lw 2
set style line 4 lc rgb COLOR4 pt 11 lw 2
set style line 5 lc rgb COLOR5 pt 13 lw 2
set style line 6 lc rgb COLOR6 pt 7 lw 2 dt 2
set style line 7 lc rgb COLOR7 pt 5 lw 2 dt 2
set style line 8 lc rgb COLOR8 pt 9 lw 2 dt 2
set style line 9 lc rgb COLOR9 pt 11 lw 2 dt 2
set style line 10 lc rgb COLOR10 pt 13 lw 2 dt 2
set style line 11 lc rgb COLOR11 pt 7 lw 2 dt 3
set style line 12 lc rgb COLOR12 pt 5 lw 2 dt 3
set grid lc rgb "#dddddd"
set border lc rgb "#444444"
set tics nomirror

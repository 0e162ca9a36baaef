#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
# An audit of results/: every verdict and every claim of the committed tables once more, from the experiments' YAML, the
# published CSV and the records' JSON, by code that shares nothing with the program. What it reads of the tables are
# only their verdicts and printed values, to compare with. Times: every median is that of its samples, and every valid
# case has verifications within their limits.
# usage: audit.pl ROOT [NUMBER]      NUMBER: at least as many verdicts must have been looked at
use strict;
use warnings;
use JSON::PP;

my ($root, $at_least) = @ARGV;
my (%count, @wrong);
sub wrong { push @wrong, join '', @_ }
sub slurp { local (@ARGV, $/) = @_; my $text = <>; $text }

# ---- YAML, as far as the experiments use it: keys at the margin, lists of flow mappings, folded blocks -------------
sub flow { # the value at pos of $$t
  my $t = shift;
  $$t =~ /\G\s+/gc;
  if ($$t =~ /\G"((?:[^"\\]|\\.)*)"/gc) { my $s = $1; $s =~ s/\\(.)/$1/g; return $s }
  if ($$t =~ /\G'((?:[^']|'')*)'/gc) { my $s = $1; $s =~ s/''/'/g; return $s }
  if ($$t =~ /\G\{/gc) {
    my %h;
    until ($$t =~ /\G[\s,]*\}/gc) {
      $$t =~ /\G[\s,]*([\w-]+):/gc or die "no key at " . substr($$t, pos($$t) // 0, 40);
      my $key = $1;
      $h{$key} = flow($t);
    }
    return \%h;
  }
  if ($$t =~ /\G\[/gc) {
    my @l;
    until ($$t =~ /\G[\s,]*\]/gc) { $$t =~ /\G[\s,]*/gc; push @l, flow($t) }
    return \@l;
  }
  $$t =~ /\G([^,\]\}\n]*)/gc;
  my $word = $1;
  $word =~ s/\s+$//;
  return $word;
}
sub yaml {
  my ($text, %doc) = (shift);
  $text =~ s/^\s*#.*\n//mg;
  while ($text =~ /^(\w+):[ ]*(.*\n(?:[ \t-].*\n|\n)*)/mg) {
    my ($key, $body) = ($1, $2);
    if ($body =~ /^\s*\n?\s*- /) {
      my @items;
      push @items, flow(\(my $item = $1)) while $body =~ /^\s*- ((?:.*)(?:\n(?!\s*- ).+)*)/mg;
      $doc{$key} = \@items;
    } else {
      $doc{$key} = flow(\$body);
    }
  }
  return \%doc;
}

# ---- CSV ------------------------------------------------------------------------------------------------------------
sub csv {
  my ($text, @rows, @row) = (shift);
  $text =~ s/\r//g;
  for my $line (grep { length && !/^#/ } split /\n/, $text) {
    my @cells;
    while ($line =~ /\G(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/g) {
      my $cell = defined $1 ? $1 =~ s/""/"/gr : $2;
      push @cells, $cell;
      last if $3 eq '';
    }
    push @rows, \@cells;
  }
  return @rows;
}

# ---- what is printed ------------------------------------------------------------------------------------------------
sub printed { # the cell of a case under a column, and its machine
  my ($e, $case, $column) = @_;
  my $label = $case->{method};
  my ($method) = grep { $_->{label} eq $label } @{ $e->{methods} };
  $label = $method->{published_as} if $column->{class} eq 'numeric' && $method && $method->{published_as};
  my ($head, @rows) = @{ $e->{printed} || [] };
  return unless $head;
  my %at = map { $head->[$_] => $_ } 0 .. $#$head;
  return unless defined $at{ $column->{name} };
  for my $row (@rows) {
    next if defined $at{method} && $row->[ $at{method} ] ne $label;
    next if grep { defined $at{$_} && $row->[ $at{$_} ] ne $case->{axes}{$_} } keys %{ $case->{axes} };
    my $value = $row->[ $at{ $column->{name} } ];
    next unless defined $value && length $value;
    return ($value, defined $at{machine} ? $row->[ $at{machine} ] : '');
  }
  return;
}
sub number { my $s = shift; my $bound = $s =~ s/^([<>])// ? $1 : ''; $s =~ s/^\./0./; return ($s + 0, $bound) }
sub unit { # of the last printed digit
  my $s = shift;
  my $power = $s =~ /[eE]([+-]?\d+)/ ? $1 : 0;
  my $decimals = $s =~ /\.(\d*)/ ? length $1 : 0;
  return 10**($power - $decimals);
}
sub metric { my ($case, $name) = @_; my $m = $case->{metrics}{$name}; return $m ? $m->{value} : undef }

sub verdict {
  my ($e, $r, $case, $column) = @_;
  my ($value, $machine) = printed($e, $case, $column);
  return ('', '') if $column->{class} eq 'info';
  return ('', '') unless defined $value;
  return ('', $value) if $r->{preset} eq 'published';
  my $mine = metric($case, $column->{metric});
  return ($column->{class} eq 'numeric' && exists $case->{metrics}{ $column->{metric} } ? 'DIFFERS' : '', $value) unless defined $mine;
  return ('OTHER DATA', $value) if $column->{class} eq 'data';
  return ($machine eq $r->{machine}{name} ? 'same machine' : 'NOT COMPARABLE', $value) if $column->{class} eq 'hardware';
  my ($p, $bound) = number($value);
  return ($mine > $p ? 'REPRODUCED' : 'DIFFERS', $value) if $bound eq '>';
  return ($mine < $p ? 'REPRODUCED' : 'DIFFERS', $value) if $bound eq '<';
  my ($stated, $other) = (($column->{tolerance} || 0) * abs $p, $column->{absolute} || 0);
  my $allowed = unit($value) / 2 + ($other > $stated ? $other : $stated);
  return (abs($mine - $p) <= $allowed * (1 + 1e-9) ? 'REPRODUCED' : 'DIFFERS', $value);
}

# ---- claims ---------------------------------------------------------------------------------------------------------
sub pairs { map { my ($k, $v) = split /=/, $_, 2; [$k, $v] } split /,/, shift // '' }
sub judged_metric { # undefined for times of a GPU that was throttled
  my ($case, $name) = @_;
  my $unit = $case->{metrics}{$name} ? $case->{metrics}{$name}{unit} : '';
  return undef if $case->{timing}{slowed} && ($unit =~ m{^(s|1/s|B/s|FLOP/s|J)$} || ($unit eq '%' && $name =~ /^percent_/));
  return metric($case, $name);
}
sub in_scope {
  my ($c, $case) = @_;
  for my $p (pairs($c->{where})) { return 0 if ($case->{axes}{ $p->[0] } // '') ne $p->[1] }
  return !$c->{axis} || grep { ($case->{axes}{ $c->{axis} } // '') eq $_ } @{ $c->{values} };
}
sub spread { # the standard deviation over all cases in scope; undefined where one is not valid
  my ($r, $c, $method) = @_;
  my @cases = grep { $_->{method} eq $method && in_scope($c, $_) } @{ $r->{cases} };
  my @v = grep { defined } map { $_->{status} eq 'valid' ? judged_metric($_, $c->{metric}) : undef } @cases;
  return (scalar @v, undef) if @v < 2 || @v != @cases;
  my ($mean, $sum) = (0, 0);
  $mean += $_ / @v for @v;
  $sum += ($_ - $mean)**2 for @v;
  return (scalar @v, sqrt($sum / (@v - 1)));
}
sub claim {
  my ($e, $r, $c) = @_;
  if ($c->{spread}) {
    my ($n, $left) = spread($r, $c, $c->{left});
    my ($m, $right) = spread($r, $c, $c->{right});
    return 'NOT JUDGED' unless defined $left && defined $right && $n == $m;
    return ($c->{relation} eq '<=' ? $left <= $c->{factor} * $right : $left >= $c->{factor} * $right) ? 'HOLDS' : 'FAILS';
  }
  my ($judged, $failed, $invalid) = (0, 0, 0);
  my %label = map { $_->{label} => 1 } @{ $e->{methods} };
  for my $left (@{ $r->{cases} }) {
    next if $left->{method} ne $c->{left};
    next unless in_scope($c, $left);
    my ($value, $right, $other) = (judged_metric($left, $c->{metric}));
    my $holds;
    if ($label{ $c->{right} }) {
      my %axes = %{ $left->{axes} };
      $axes{ $_->[0] } = $_->[1] for pairs($c->{at});
      for my $k (@{ $r->{cases} }) {
        next if $k->{method} ne $c->{right};
        next if grep { ($k->{axes}{$_} // "\0") ne ($axes{$_} // "\1") } keys %{ { %axes, %{ $k->{axes} } } };
        $other = $k;
        last;
      }
      $invalid++ if $left->{status} eq 'invalid' || ($other && $other->{status} eq 'invalid');
      next if $left->{status} ne 'valid' || !$other || $other->{status} ne 'valid';
      $right = judged_metric($other, $c->{metric});
    } elsif ($c->{right} eq 'published') {
      my ($text, $class, $machine);
      for my $column (grep { $_->{metric} eq $c->{metric} } @{ $e->{columns} }) {
        ($text, $machine) = printed($e, $left, $column);
        $class = $column->{class};
        last if defined $text;
      }
      next unless defined $text;
      $invalid++ if $left->{status} eq 'invalid';
      next if $left->{status} ne 'valid' || !defined $value;
      next if $class eq 'data' || ($class eq 'hardware' && $machine ne $r->{machine}{name});
      ($right, my $bound) = number($text);
      if ($bound) { # any value lies beyond it, not the bound itself
        next unless $bound eq '>' ? $value <= $c->{factor} * $right : $value >= $c->{factor} * $right;
        $judged++;
        $failed++ unless ($bound eq '>') == ($c->{relation} eq '<=');
        next;
      }
    } else {
      $invalid++ if $left->{status} eq 'invalid';
      next if $left->{status} ne 'valid';
      $right = $c->{right} + 0;
    }
    next unless defined $value && defined $right;
    $judged++;
    $failed++ unless $c->{relation} eq '<=' ? $value <= $c->{factor} * $right : $value >= $c->{factor} * $right;
  }
  return $failed ? 'FAILS' : $judged && !$invalid ? 'HOLDS' : 'NOT JUDGED';
}

# ---- one record -----------------------------------------------------------------------------------------------------
sub median { my @s = sort { $a <=> $b } @_; return @s % 2 ? $s[$#s / 2] : ($s[@s / 2 - 1] + $s[@s / 2]) / 2 }

sub audit_case {
  my ($where, $case, $published) = @_;
  if ($case->{status} eq 'valid' && $case->{kind} ne 'published' && !$published) {
    my @v = @{ $case->{verification} || [] };
    wrong("$where: valid without a verification") unless @v;
    for my $v (@v) {
      $count{verifications}++;
      wrong("$where: $v->{name} is ", $v->{value} // 'no number', ", limit $v->{limit}") unless defined $v->{value} && $v->{value} <= $v->{limit};
    }
  }
  my $data = $case->{data}{sha256};
  wrong("$where: $case->{data}{file} is none of its inputs") if $data && $case->{inputs} && !grep { $_->{sha256} eq $data } @{ $case->{inputs} };
  my $t = $case->{timing};
  return unless $t && $t->{samples} && @{ $t->{samples} };
  $count{medians}++;
  my %out = $t->{slowed} ? () : map { $_ => 1 } map { @$_ } values %{ $t->{throttled} || {} };
  my $m = median(map { $t->{samples}[$_] } grep { !$out{$_} } 0 .. $#{ $t->{samples} });
  wrong("$where: the median is $t->{median}, that of its samples $m") unless abs($m - $t->{median}) <= 1e-6 * $m;
}

sub audit {
  my $file = shift;
  (my $folder = $file) =~ s{/[^/]+$}{};
  my ($paper, $name) = $folder =~ m{([^/]+)/([^/]+)$};
  my $yaml = "$root/experiments/$paper/$name.yaml";
  return wrong("$folder: no experiment") unless -f $yaml;
  my $e = yaml(slurp($yaml));
  $e->{printed} = [csv(slurp("$root/experiments/$paper/$e->{published}"))] if $e->{published};
  my $r = decode_json(slurp($file));
  my ($head, @rows) = csv(slurp("$folder/table.csv"));
  my %at = map { $head->[$_] => $_ } 0 .. $#$head;
  my %row;
  for my $row (@rows) {
    my $key = join '|', @$row[@at{qw(axes method column)}];
    wrong("$folder: two rows of $key") if $row{$key};
    $row{$key} = $row;
  }
  for my $case (@{ $r->{cases} }) {
    my $where = "$folder, $case->{id}";
    my $place = join(' ', map { "$_->{name}=" . ($case->{axes}{ $_->{name} } // '') } @{ $e->{axes} || [] }) . "|$case->{method}";
    audit_case($where, $case, $r->{preset} eq 'published');
    if ($case->{status} ne 'valid' && $case->{kind} ne 'published') {
      wrong("$where: no row says that it is $case->{status}") unless $row{"$place|"} && $row{"$place|"}[$at{status}] eq $case->{status};
      next;
    }
    for my $column (@{ $e->{columns} }) {
      my $row = $row{"$place|$column->{name}"};
      my ($value_there, $there, $number) = $row ? @$row[@at{qw(published verdict value)}] : ('', '', '');
      my $own = $column->{relative_to} ? undef : metric($case, $column->{metric});
      wrong("$where, $column->{name}: the record has $own, the table '$number'") if defined $own && !($number ne '' && abs($own - $number) <= 1e-8 * abs $own);
      next if $column->{class} eq 'info';
      my ($v, $value) = verdict($e, $r, $case, $column);
      $count{$v}++ if $v;
      wrong("$where, $column->{name}: '$value' is printed, the table has '$value_there'") if $value ne $value_there;
      wrong("$where, $column->{name}: $v here, '$there' there") if $v ne $there;
    }
  }
  my $shown = slurp("$folder/table.md");
  for (['ok', 'REPRODUCED'], ['DIFFERS', 'DIFFERS']) {
    my ($mark, $verdict) = @$_;
    my ($there, $here) = (scalar(() = $shown =~ /\([^()|]*\) $mark +(?=\|)/g), scalar grep { $_->[$at{verdict}] eq $verdict } @rows);
    wrong("$folder: $there cells '$mark' in table.md, $here $verdict in table.csv") if $there != $here;
  }
  my ($claims) = $shown =~ /### Claims\n\n.*\n.*\n((?:\|.*\n)*)/;
  my @told = map { [map { s/^\s+|\s+$//gr } split /(?<!\\)\|/] } split /\n/, $claims // '';
  my @claims = @{ $e->{claims} || [] };
  wrong("$folder: ", scalar @told, ' claims told of ', scalar @claims) if @told != @claims;
  for my $i (0 .. $#claims) {
    my $v = claim($e, $r, $claims[$i]);
    $count{"claims that $v"}++;
    wrong("$folder, claim $claims[$i]{id}: $v here, ", $told[$i][2] // 'nothing', ' there') if $v ne ($told[$i][2] // '');
  }
}

audit($_) for sort glob "$root/results/*/*/*/paper.json $root/results/*/*/*/standard.json";
audit($_) for sort glob "$root/results/*/*/*/published.json";
my $verdicts = 0;
for my $name (sort keys %count) {
  print "$name: $count{$name}\n";
  $verdicts += $count{$name} if $name =~ /^[A-Zs]|^claims/;
}
wrong("only $verdicts verdicts were looked at, not $at_least") if $at_least && $verdicts < $at_least;
print "$_\n" for @wrong > 40 ? @wrong[0 .. 39] : @wrong;
print scalar(@wrong), " wrong\n";
exit(@wrong ? 1 : 0);

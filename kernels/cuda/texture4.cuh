/* The float4 sibling of rb_fetch3: the only place where four-channel textures are fetched. */
#ifndef RB_CUDA_TEXTURE4_CUH
#define RB_CUDA_TEXTURE4_CUH

#include <cuda_runtime.h>

/* u, v, w as the texture object has them: texels, or normalised. */
static __device__ __forceinline__ float4 rb_fetch3x4(cudaTextureObject_t t, float u, float v, float w) { return tex3D<float4>(t, u, v, w); }

#endif

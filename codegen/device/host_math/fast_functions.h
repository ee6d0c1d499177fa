// The functions of Math::fast, which is for GPUs. The host device uses the accurate functions.
#pragma once

__device__ __forceinline__ float fast_exp(float a) { return expf(a); }
__device__ __forceinline__ float fast_exp2(float a) { return exp2f(a); }
__device__ __forceinline__ float fast_log(float a) { return logf(a); }
__device__ __forceinline__ float fast_log2(float a) { return log2f(a); }
__device__ __forceinline__ float fast_sin(float a) { return sinf(a); }
__device__ __forceinline__ float fast_cos(float a) { return cosf(a); }
__device__ __forceinline__ float fast_tan(float a) { return tanf(a); }
__device__ __forceinline__ float fast_pow(float a, float b) { return powf(a, b); }
__device__ __forceinline__ float fast_divide(float a, float b) { return a / b; }
__device__ __forceinline__ float fast_tanh(float a) { return tanhf(a); }

/*
 * __cpu_model, which __builtin_cpu_supports reads. gcc and clang have it in their run-time libraries; zig's has it not.
 * Only the features that lib asks for are found; the bits are those of the processor's interface that gcc documents.
 */
#include <cpuid.h>
#include <stdint.h>

struct model {
	unsigned vendor, type, subtype, features[1];
};

extern struct model __cpu_model;
struct model __cpu_model;

enum { POPCNT = 2, SSE42 = 8, AVX2 = 10, BMI = 16, BMI2 = 17, PCLMUL = 19, AVX512VL = 20, AVX512BW = 21, AVX512VBMI2 = 31 };
enum { YMM = 0x6, ZMM = 0xe6 }; /* registers that the system keeps for a process */

static void
feature(unsigned bit, unsigned has)
{
	if (has)
		__cpu_model.features[0] |= 1u << bit;
}

__attribute__((constructor(101))) static void
find(void)
{
	unsigned a, b, c, d, kept = 0, high;

	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	feature(POPCNT, c & bit_POPCNT);
	feature(SSE42, c & bit_SSE4_2);
	feature(PCLMUL, c & bit_PCLMUL);
	if (c & bit_OSXSAVE)
		__asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
	if ((kept & YMM) != YMM || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return;
	feature(AVX2, b & bit_AVX2);
	feature(BMI, b & bit_BMI);
	feature(BMI2, b & bit_BMI2);
	if ((kept & ZMM) != ZMM)
		return;
	feature(AVX512VL, b & bit_AVX512VL);
	feature(AVX512BW, b & bit_AVX512BW);
	feature(AVX512VBMI2, c & bit_AVX512VBMI2);
}

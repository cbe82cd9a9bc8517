/* SPDX-License-Identifier: MIT
 * Part of bide's benchmarks: the rank-sum test. See ranksum.h. */
#include "ranksum.h"

#include <string.h>

#include "results.h"

#define PAIRS_MAX (ROUNDS_MAX * ROUNDS_MAX)

/* U: in how many of the pairs that of a is the larger; equal ones count half. */
static double pairs_won(const double *a, int a_count, const double *b, int b_count)
{
	double won = 0;
	for (int i = 0; i < a_count; i++)
		for (int j = 0; j < b_count; j++)
			won += a[i] > b[j] ? 1 : a[i] == b[j] ? 0.5 : 0;
	return won;
}

/* share[u]: of all ways to deal the ranks to the two groups, those that have that U. The ranks are dealt from
 * the largest on, so with i and j figures yet to be dealt: it goes to a and beats the j that remain, or to b. */
static void distribution(int a_count, int b_count, double share[PAIRS_MAX + 1])
{
	static double rows[2][ROUNDS_MAX + 1][PAIRS_MAX + 1]; /* [i odd or even][j][u] */
	memset(rows, 0, sizeof rows);
	for (int i = 0; i <= a_count; i++) {
		for (int j = 0; j <= b_count; j++) {
			double *now = rows[i & 1][j];
			memset(now, 0, sizeof rows[0][0]);
			if (i == 0 || j == 0) {
				now[0] = 1;
				continue;
			}
			double to_a = (double)i / (i + j);
			for (int u = 0; u <= i * j; u++) {
				double won = u >= j ? rows[(i - 1) & 1][j][u - j] : 0;
				now[u] = to_a * won + (1 - to_a) * rows[i & 1][j - 1][u];
			}
		}
	}
	memcpy(share, rows[a_count & 1][b_count], (PAIRS_MAX + 1) * sizeof *share);
}

double ranksum(const double *a, int a_count, const double *b, int b_count)
{
	static double share[PAIRS_MAX + 1];
	double pairs = (double)a_count * b_count, won = pairs_won(a, a_count, b, b_count), tail = 0;
	if (pairs == 0)
		return 1;
	if (won > pairs / 2)
		won = pairs - won;
	distribution(a_count, b_count, share);
	for (int u = 0; u <= (int)(won + 0.5); u++) /* a half is rounded to the side of chance */
		tail += share[u];
	return tail * 2 < 1 ? tail * 2 : 1;
}

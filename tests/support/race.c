/* SPDX-License-Identifier: MIT
 *
 * Two threads write one number. Whoever trusts the thread sanitizer's silence first
 * sees that it speaks here.
 */
#include <stdio.h>

int main(void)
{
    long sum = 0;

#pragma omp parallel for num_threads(4)
    for (int i = 0; i < 100000; i++)
        sum += i;
    printf("%ld\n", sum);
    return 0;
}

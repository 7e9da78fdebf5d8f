/* The library for reflective memory of old demonstration programs is not offered: segments with SCI_FLAG_BROADCAST are reflective memory.
 * This file only lets programs compile that include it. */
#ifndef RMLIB_H
#define RMLIB_H
#endif

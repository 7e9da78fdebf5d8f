/* Configuration of this installation of gasnet-sci. gasnetex.h and gasnet_tools.h include it; clients must not.
 *
 * Build systems read the third field of the lines below. So each is one line, and no other line has its name. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, gasnet.h or gasnet_tools.h, not gasnet_config.h"
#endif
#ifndef GASNETI_SCI_CONFIG_H
#define GASNETI_SCI_CONFIG_H

/* Release of GASNet-EX that clients may expect. The version of the library itself is in Cargo.toml. */
#define GASNET_RELEASE_VERSION_MAJOR 2025
#define GASNET_RELEASE_VERSION_MINOR 8
#define GASNET_RELEASE_VERSION_PATCH 0
#define GASNETI_RELEASE_VERSION 2025.8.0
/* The specification of GASNet-EX, which gasnetex.h gives clients as GEX_SPEC_VERSION_*. UPC++'s configure reads it here. */
#define GASNETI_EX_SPEC_VERSION_MAJOR 0
#define GASNETI_EX_SPEC_VERSION_MINOR 19
#define GASNETI_BUILD_ID "gasnet-sci"
#define GASNETI_CONFIGURE_ARGS "'--conduit=sci'"

#define GASNETI_HAVE_TLS_SUPPORT 1

#endif

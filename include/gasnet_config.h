/* Configuration of this installation of gasnet-sci. gasnet.h and gasnet_tools.h include it; clients must not.
 *
 * Build systems read the third field of the lines GASNET_RELEASE_VERSION_*. So each is one line, with plain digits. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnet.h or gasnet_tools.h, not gasnet_config.h"
#endif
#ifndef GASNETI_SCI_CONFIG_H
#define GASNETI_SCI_CONFIG_H

/* Release of the GASNet-1 API that clients may expect. The version of the library itself is in Cargo.toml. */
#define GASNET_RELEASE_VERSION_MAJOR 1
#define GASNET_RELEASE_VERSION_MINOR 30
#define GASNET_RELEASE_VERSION_PATCH 0

#define GASNET_SPEC_VERSION_MAJOR 1
#define GASNET_SPEC_VERSION_MINOR 8
#define GASNET_VERSION GASNET_SPEC_VERSION_MAJOR

#endif

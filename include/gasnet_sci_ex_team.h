/* GASNet-EX: Teams, translation, segments, barriers. Part of gasnetex.h. */
#if !defined(GASNETI_SCI_IN_GASNET_H)
#error "include gasnetex.h, not gasnet_sci_ex_team.h"
#endif
#ifndef GASNETI_SCI_EX_TEAM_H
#define GASNETI_SCI_EX_TEAM_H

#endif

// What other folders include for values; facts.h comes apart.
//
//   Value      a register of a warp: a number per lane, and an unknown (warp_value.h)
//   Operation  what can be done with values (operation.h)
//   Term       an unknown, and what is known of it (term.h); unknowns.h lists their kinds
//   Terms      all terms of a kernel, and the arithmetic (terms.h)
#pragma once

#include "analyzer/value/containers.h"
#include "analyzer/value/interval.h"
#include "analyzer/value/operation.h"
#include "analyzer/value/term.h"
#include "analyzer/value/terms.h"
#include "analyzer/value/unknowns.h"
#include "analyzer/value/warp_value.h"

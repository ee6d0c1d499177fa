// Everything public, in one include.
#pragma once

#include "sinter/array.h"
#include "sinter/custom_op.h"
#include "sinter/device.h"
#include "sinter/dtype.h"
#include "sinter/error.h"
#include "sinter/executable.h"
#include "sinter/explain.h"
#include "sinter/gradient.h"
#include "sinter/graph.h"
#include "sinter/nn.h"
#include "sinter/ops.h"
#include "sinter/options.h"
#include "sinter/report.h"
#include "sinter/shape.h"
#include "sinter/text.h"
#include "sinter/views.h"

/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernels/base/hardware_counters.h"

#include "kernels/cuda/cuda.cuh"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <stdlib.h>

/* The entry points used, taken from libcupti at run time so that regbench starts without it. */
/* clang-format off */
#define ENTRIES(X) \
  X(cuptiProfilerInitialize) \
  X(cuptiDeviceGetChipName) \
  X(cuptiProfilerGetCounterAvailability) \
  X(cuptiProfilerHostInitialize) \
  X(cuptiProfilerHostConfigAddMetrics) \
  X(cuptiProfilerHostGetConfigImageSize) \
  X(cuptiProfilerHostGetConfigImage) \
  X(cuptiProfilerHostEvaluateToGpuValues) \
  X(cuptiProfilerHostDeinitialize) \
  X(cuptiRangeProfilerEnable) \
  X(cuptiRangeProfilerDisable) \
  X(cuptiRangeProfilerGetCounterDataSize) \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig) \
  X(cuptiRangeProfilerStart) \
  X(cuptiRangeProfilerStop) \
  X(cuptiRangeProfilerPushRange) \
  X(cuptiRangeProfilerPopRange) \
  X(cuptiRangeProfilerDecodeData) \
  X(cuptiGetResultString)
/* clang-format on */
static struct {
#define FIELD(name) __typeof__(&::name) name;
  ENTRIES(FIELD)
#undef FIELD
  int ready;
} cupti;

#define RB_CUPTI_TRY(call)                                                            \
  do {                                                                                \
    CUptiResult rb_c = (call);                                                        \
    if (rb_c != CUPTI_SUCCESS) {                                                      \
      const char *text = "unknown";                                                   \
      cupti.cuptiGetResultString(rb_c, &text);                                        \
      st = RB_FAIL(RB_EUNSUPPORTED, "%.40s: %s", #call + sizeof("cupti.") - 1, text); \
      goto done;                                                                      \
    }                                                                                 \
  } while (0)
/* A parameter block with its size set, as every CUPTI call wants it. */
#define PARAMS(type, variable, size) \
  type variable = {};                \
  variable.structSize = size

/* Looks up every entry point once; one that is missing means a libcupti that is too old. */
static rb_status open_library(void) {
  /* Without and with a version, newest first. */
  static const char *const names[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12"};
  void *lib = NULL;
  if (cupti.ready) return RB_OK;
  for (int i = 0; i < 3 && !lib; i++) lib = dlopen(names[i], RTLD_NOW);
  if (!lib) return RB_FAIL(RB_EUNSUPPORTED, "libcupti is not on the library path");
    /* Stops at the first function that is missing; `ready` stays 0 and the next call tries again. */
#define LOAD(name)                           \
  *(void **)&cupti.name = dlsym(lib, #name); \
  if (!cupti.name) return RB_FAIL(RB_EUNSUPPORTED, "libcupti has no %s: CUDA 12.6 or later is needed", #name);
  ENTRIES(LOAD)
#undef LOAD
  cupti.ready = 1;
  return RB_OK;
}

/* The context that CUPTI is to watch. cuCtxGetCurrent is looked up through the runtime, so that libcuda is not
 * linked. */
static rb_status current_context(CUcontext *out) {
  rb_status st = RB_OK;
  CUresult (*get)(CUcontext *) = NULL;
  cudaDriverEntryPointQueryResult found;
  /* Any runtime call makes the primary context; freeing nothing is one without another effect. */
  RB_CUDA_TRY(cudaFree(0)); /* makes the primary context current */
  RB_CUDA_TRY(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", (void **)&get, 4000, cudaEnableDefault, &found));
  RB_CHECK(get && get(out) == CUDA_SUCCESS && *out, RB_EUNSUPPORTED, "no current CUDA context");
done:
  return st;
}

/* What one measurement holds. */
typedef struct {
  /* host: evaluates metrics; profiler: drives the device's counters. availability, config, data: images whose bytes
   * CUPTI fills. availability: counters the chip has; config: which are collected in which pass; data: what was
   * collected. */
  CUpti_Profiler_Host_Object *host;
  CUpti_RangeProfiler_Object *profiler;
  uint8_t *availability, *config, *data;
  size_t config_size, data_size;
} session;

/* Which counters the chip has, and how the metrics are collected from them. What this allocates (host object and two
 * images) is the session's and goes with close_session. */
static rb_status configure(session *s, CUcontext context, const char **metrics, size_t count) {
  rb_status st = RB_OK;
  PARAMS(CUpti_Profiler_Initialize_Params, start, CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
  PARAMS(CUpti_Device_GetChipName_Params, chip, CUpti_Device_GetChipName_Params_STRUCT_SIZE);
  PARAMS(CUpti_Profiler_GetCounterAvailability_Params, has, CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
  PARAMS(CUpti_Profiler_Host_Initialize_Params, host, CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
  PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add, CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
  PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params, size,
         CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
  PARAMS(CUpti_Profiler_Host_GetConfigImage_Params, image, CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
  RB_CUPTI_TRY(cupti.cuptiProfilerInitialize(&start));
  RB_CUPTI_TRY(cupti.cuptiDeviceGetChipName(&chip));
  /* Called twice: the first call tells the size of the image, the second fills it. */
  has.ctx = context;
  /* pCounterAvailabilityImage is NULL here: the size is what is asked for. */
  RB_CUPTI_TRY(cupti.cuptiProfilerGetCounterAvailability(&has));
  s->availability = (uint8_t *)calloc(1, has.counterAvailabilityImageSize);
  RB_CHECK(s->availability, RB_ENOMEM, "host memory"); /* freed by close_session, as all images are */
  has.pCounterAvailabilityImage = s->availability;
  RB_CUPTI_TRY(cupti.cuptiProfilerGetCounterAvailability(&has));
  /* Counters of a range of work, as opposed to those of single samples. */
  host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  host.pChipName = chip.pChipName;
  host.pCounterAvailabilityImage = s->availability;
  RB_CUPTI_TRY(cupti.cuptiProfilerHostInitialize(&host));
  s->host = host.pHostObject;
  /* From the metrics' names follow the counters, and from these the configuration that the device is set to. */
  add.pHostObject = s->host, add.ppMetricNames = metrics, add.numMetrics = count;
  RB_CUPTI_TRY(cupti.cuptiProfilerHostConfigAddMetrics(&add));
  /* The configuration's size depends on the metrics that were added. */
  size.pHostObject = s->host;
  RB_CUPTI_TRY(cupti.cuptiProfilerHostGetConfigImageSize(&size));
  s->config_size = size.configImageSize;
  s->config = (uint8_t *)calloc(1, s->config_size);
  RB_CHECK(s->config, RB_ENOMEM, "host memory");
  image.pHostObject = s->host, image.configImageSize = s->config_size, image.pConfigImage = s->config;
  RB_CUPTI_TRY(cupti.cuptiProfilerHostGetConfigImage(&image));
done:
  return st;
}

/* The profiler of the context, with room for the counters of one range. */
static rb_status enable(session *s, CUcontext context, const char **metrics, size_t count) {
  rb_status st = RB_OK;
  PARAMS(CUpti_RangeProfiler_Enable_Params, on, CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  /* Sizes first, then the image that receives the counters, then the configuration, which binds both to the
   * profiler. */
  PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params, size,
         CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, data,
         CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_SetConfig_Params, set, CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  on.ctx = context;
  RB_CUPTI_TRY(cupti.cuptiRangeProfilerEnable(&on));
  s->profiler = on.pRangeProfilerObject;
  /* Room for one range, without ranges inside it. */
  size.pRangeProfilerObject = s->profiler, size.pMetricNames = metrics, size.numMetrics = count;
  size.maxNumOfRanges = 1, size.maxNumRangeTreeNodes = 1;
  RB_CUPTI_TRY(cupti.cuptiRangeProfilerGetCounterDataSize(&size));
  s->data_size = size.counterDataSize;
  s->data = (uint8_t *)calloc(1, s->data_size);
  RB_CHECK(s->data, RB_ENOMEM, "host memory");
  data.pRangeProfilerObject = s->profiler, data.counterDataSize = s->data_size, data.pCounterData = s->data;
  RB_CUPTI_TRY(cupti.cuptiRangeProfilerCounterDataImageInitialize(&data));
  set.pRangeProfilerObject = s->profiler;
  set.configSize = s->config_size, set.pConfig = s->config;
  /* One range, "run", which this program opens and closes itself, and repeats for every pass. */
  set.counterDataImageSize = s->data_size, set.pCounterDataImage = s->data;
  set.range = CUPTI_UserRange, set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 1, set.numNestingLevels = 1, set.minNestingLevel = 1;
  RB_CUPTI_TRY(cupti.cuptiRangeProfilerSetConfig(&set));
done:
  return st;
}

/* The work once a pass, until all counters were collected. run: the work to be measured, launched on the project's
 * stream; it must do the same in every pass. */
static rb_status collect(session *s, rb_status (*run)(void *), void *context) {
  rb_status st = RB_OK;
  PARAMS(CUpti_RangeProfiler_Start_Params, start, CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_PushRange_Params, push, CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_PopRange_Params, pop, CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_Stop_Params, stop, CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  PARAMS(CUpti_RangeProfiler_DecodeData_Params, decode, CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  /* One parameter block for each call of the loop; they all name the same profiler. */
  start.pRangeProfilerObject = push.pRangeProfilerObject = pop.pRangeProfilerObject = s->profiler;
  stop.pRangeProfilerObject = decode.pRangeProfilerObject = s->profiler;
  /* Ranges are known by name; this one is the only one. */
  push.pRangeName = "run";
  /* Counters that do not fit the hardware at once take several passes, each of which runs the work again. */
  for (int pass = 0; pass < 64 && !stop.isAllPassSubmitted; pass++) {
    RB_CUPTI_TRY(cupti.cuptiRangeProfilerStart(&start));
    RB_CUPTI_TRY(cupti.cuptiRangeProfilerPushRange(&push));
    /* The device must be idle at the range's end, or work still under way would be counted elsewhere. The range is
     * closed even after a failure. */
    st = run(context);
    if (st == RB_OK && cudaDeviceSynchronize() != cudaSuccess) st = RB_FAIL(RB_EDEVICE, "the profiled work failed");
    cupti.cuptiRangeProfilerPopRange(&pop);
    RB_CUPTI_TRY(cupti.cuptiRangeProfilerStop(&stop));
    if (st != RB_OK) goto done;
  }
  /* All passes are in: the device's raw data are decoded into the image. */
  RB_CUPTI_TRY(cupti.cuptiRangeProfilerDecodeData(&decode));
done:
  return st;
}

/* What was opened, in reverse; a session may be half made. */
static void close_session(session *s) {
  /* The profiler is detached from the context first, then the evaluating object goes. */
  if (s->profiler) {
    PARAMS(CUpti_RangeProfiler_Disable_Params, off, CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    off.pRangeProfilerObject = s->profiler;
    cupti.cuptiRangeProfilerDisable(&off);
  }
  if (s->host) {
    PARAMS(CUpti_Profiler_Host_Deinitialize_Params, end, CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    end.pHostObject = s->host;
    cupti.cuptiProfilerHostDeinitialize(&end);
  }
  /* free takes NULL. */
  free(s->availability), free(s->config), free(s->data);
}

extern "C" rb_status rb_cupti_measure(const char **metrics, int count, rb_status (*run)(void *context), void *context,
                                      double *values) {
  rb_status st = RB_OK;
  CUcontext cuda = NULL;
  session s = {};
  PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate,
         CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
  /* Every step stops at the first failure, whose reason is CUPTI's own text; close_session then frees what there
   * is. */
  RB_TRY(open_library());
  RB_TRY(current_context(&cuda));
  RB_TRY(configure(&s, cuda, metrics, (size_t)count));
  RB_TRY(enable(&s, cuda, metrics, (size_t)count));
  RB_TRY(collect(&s, run, context));
  /* Raw counters to the metrics' values, in the order of their names. */
  evaluate.pHostObject = s.host, evaluate.pCounterDataImage = s.data, evaluate.counterDataImageSize = s.data_size;
  evaluate.ppMetricNames = metrics, evaluate.numMetrics = (size_t)count, evaluate.pMetricValues = values;
  RB_CUPTI_TRY(cupti.cuptiProfilerHostEvaluateToGpuValues(&evaluate));
done:
  close_session(&s);
  return st;
}

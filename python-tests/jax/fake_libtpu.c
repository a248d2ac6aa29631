/* A libtpu that is none: answers the questions of the plugin as TPU_EMU_TEST_FAKE says. Each program
   that it is shown is a line in the file TPU_EMU_TEST_FAKE_LOG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pjrt_c_api.h"

/* What a PJRT_Error is here. */
struct failure {
    PJRT_Error_Code code;
    const char *message;
};

static const char *behaviour(void) {
    const char *said = getenv("TPU_EMU_TEST_FAKE");
    return said ? said : "answers";
}

static int is(const char *name) {
    return strcmp(behaviour(), name) == 0;
}

static void note(const char *what, const char *text, size_t size) {
    const char *file = getenv("TPU_EMU_TEST_FAKE_LOG");
    FILE *out = file ? fopen(file, "a") : NULL;
    if (out) {
        fprintf(out, "%s %.*s\n", what, (int)size, text);
        fclose(out);
    }
}

static PJRT_Error *refuse(PJRT_Error_Code code, const char *message) {
    struct failure *failure = malloc(sizeof *failure);
    failure->code = code;
    failure->message = message;
    return (PJRT_Error *)failure;
}

static void error_destroy(PJRT_Error_Destroy_Args *args) {
    free(args->error);
}

static void error_message(PJRT_Error_Message_Args *args) {
    args->message = ((const struct failure *)args->error)->message;
    args->message_size = strlen(args->message);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args) {
    args->code = ((const struct failure *)args->error)->code;
    return NULL;
}

static PJRT_Error *initialize(PJRT_Plugin_Initialize_Args *args) {
    (void)args;
    return is("not_initialized") ? refuse(PJRT_Error_Code_INTERNAL, "no luck today") : NULL;
}

static PJRT_Error *topology_create(PJRT_TopologyDescription_Create_Args *args) {
    note("topology", args->topology_name, args->topology_name_size);
    if (is("no_topology")) {
        return refuse(PJRT_Error_Code_INVALID_ARGUMENT, "such chips are not known");
    }
    args->topology = (PJRT_TopologyDescription *)&topology_create;
    return NULL;
}

static PJRT_Error *platform_version(PJRT_TopologyDescription_PlatformVersion_Args *args) {
    static const char version[] = "a fake";
    args->platform_version = version;
    args->platform_version_size = strlen(version);
    return NULL;
}

static PJRT_Error *compile(PJRT_Compile_Args *args) {
    note("compile", args->program->format, args->program->format_size);
    if (is("prints")) {
        puts("what belongs to nobody");
        fflush(stdout);
    }
    if (is("aborts")) {
        fprintf(stderr, "F0101 00:00:00 fake.cc:1] Check failed: it is fine\n");
        abort();
    }
    if (is("exits")) {
        exit(7);
    }
    if (is("hangs")) {
        for (;;) {
            sleep(1000);
        }
    }
    if (is("memory")) {
        return refuse(PJRT_Error_Code_RESOURCE_EXHAUSTED,
                      "E1000: CompileTimeHbmOom: Ran out of memory on HBM, as a fake says it.");
    }
    if (is("refuses")) {
        return refuse(PJRT_Error_Code_UNIMPLEMENTED, "A fake does not do that.");
    }
    if (is("older")) {
        return refuse(PJRT_Error_Code_UNKNOWN, "Failed to parse using StableHLO v0.0.1, too old");
    }
    args->executable = (PJRT_Executable *)&compile;
    return NULL;
}

static PJRT_Error *executable_destroy(PJRT_Executable_Destroy_Args *args) {
    (void)args;
    return NULL;
}

static PJRT_Error *memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args *args) {
    args->generated_code_size_in_bytes = 1000;
    args->argument_size_in_bytes = 4096;
    args->output_size_in_bytes = 4096;
    args->temp_size_in_bytes = is("large") ? (int64_t)3 << 30 : 7 << 20;
    args->peak_memory_in_bytes = 9 << 20;
    return NULL;
}

static PJRT_Error *cost_analysis(PJRT_Executable_GetCostAnalysis_Args *args) {
    static PJRT_NamedValue flops = {
        .struct_size = sizeof flops,
        .name = "flops",
        .name_size = 5,
        .type = PJRT_NamedValue_kFloat,
        .float_value = 4711,
        .value_size = 1,
    };
    args->properties = &flops;
    args->num_properties = 1;
    return NULL;
}

static PJRT_Error *optimized_program(PJRT_Executable_OptimizedProgram_Args *args) {
    static const char code[] = "nothing that anybody reads", format[] = "fake";
    if (args->program->code) {
        memcpy(args->program->code, code, sizeof code);
    }
    args->program->code_size = sizeof code;
    args->program->format = format;
    args->program->format_size = strlen(format);
    return NULL;
}

const PJRT_Api *GetPjrtApi(void) {
    static PJRT_Api api;
    note("loaded", "", 0);
    if (is("nothing")) {
        return NULL;
    }
    api.struct_size = sizeof api;
    api.pjrt_api_version.struct_size = sizeof api.pjrt_api_version;
    api.pjrt_api_version.major_version = is("version") ? 1 : PJRT_API_MAJOR;
    api.pjrt_api_version.minor_version = is("later") ? 9999 : PJRT_API_MINOR;
    if (is("short")) {
        api.struct_size = 8;
    }
    api.PJRT_Error_Destroy = error_destroy;
    api.PJRT_Error_Message = error_message;
    api.PJRT_Error_GetCode = error_code;
    api.PJRT_Plugin_Initialize = initialize;
    api.PJRT_TopologyDescription_Create = topology_create;
    api.PJRT_TopologyDescription_PlatformVersion = platform_version;
    api.PJRT_Compile = is("holes") ? NULL : compile;
    api.PJRT_Executable_Destroy = executable_destroy;
    api.PJRT_Executable_GetCompiledMemoryStats = memory_stats;
    api.PJRT_Executable_GetCostAnalysis = cost_analysis;
    api.PJRT_Executable_OptimizedProgram = optimized_program;
    return &api;
}

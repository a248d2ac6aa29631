/* Compiles a program with a PJRT plugin, which callgrind counts.

       driver LIBRARY PROGRAM OPTIONS */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "pjrt_c_api.h"

static const PJRT_Api *api;

static void check(PJRT_Error *error, const char *what) {
    if (!error) {
        return;
    }
    PJRT_Error_Message_Args said = {.struct_size = sizeof(PJRT_Error_Message_Args),
                                    .error = error};
    api->PJRT_Error_Message(&said);
    fprintf(stderr, "%s: %.*s\n", what, (int)said.message_size, said.message);
    exit(1);
}

/* All bytes of a file. */
static char *contents(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    long end = ftell(file);
    rewind(file);
    char *bytes = end < 0 ? NULL : malloc((size_t)end + 1);
    if (!bytes || fread(bytes, 1, (size_t)end, file) != (size_t)end) {
        perror(path);
        exit(1);
    }
    fclose(file);
    *size = (size_t)end;
    return bytes;
}

/* What is counted: its name is given to callgrind. */
__attribute__((noinline)) void counted_compile(PJRT_Client_Compile_Args *args) {
    check(api->PJRT_Client_Compile(args), "PJRT_Client_Compile");
}

int main(int count, char **words) {
    if (count != 4) {
        fprintf(stderr, "driver LIBRARY PROGRAM OPTIONS\n");
        return 2;
    }
    void *library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    const PJRT_Api *(*get)(void) = NULL;
    if (library) {
        get = (const PJRT_Api *(*)(void))dlsym(library, "GetPjrtApi");
    }
    if (!get) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    api = get();
    PJRT_Plugin_Initialize_Args initialize = {.struct_size = sizeof(PJRT_Plugin_Initialize_Args)};
    check(api->PJRT_Plugin_Initialize(&initialize), "PJRT_Plugin_Initialize");
    PJRT_Client_Create_Args create = {.struct_size = sizeof(PJRT_Client_Create_Args)};
    check(api->PJRT_Client_Create(&create), "PJRT_Client_Create");

    static const char format[] = "mlir";
    PJRT_Program program = {.struct_size = sizeof(PJRT_Program),
                            .format = format,
                            .format_size = sizeof format - 1};
    program.code = contents(words[2], &program.code_size);
    PJRT_Client_Compile_Args args = {.struct_size = sizeof(PJRT_Client_Compile_Args),
                                     .client = create.client,
                                     .program = &program};
    args.compile_options = contents(words[3], &args.compile_options_size);
    counted_compile(&args);
    return 0;
}

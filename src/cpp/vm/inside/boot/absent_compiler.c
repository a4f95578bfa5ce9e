/* The device flavour has no parser and no compiler: what the rest of CPython wants from them, as errors.
 * Stubs and not edits of the callers, so that the linker says which of them a new CPython asks for. */
#include "vm/inside/run/state.h"

#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_instruction_sequence.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_symtable.h>
#define NEED_OPCODE_METADATA
#include <internal/pycore_opcode_metadata.h>

static void refuse(void) {
  PyErr_SetString(PyExc_RuntimeError,
                  "this VM runs precompiled tasks only: compile and exec of text are absent");
}

int PyAST_Check(PyObject* object) {
  (void)object;
  return 0;
}
PyObject* PyAST_mod2obj(mod_ty tree) {
  (void)tree;
  refuse();
  return NULL;
}
mod_ty PyAST_obj2mod(PyObject* tree, PyArena* arena, int mode) {
  (void)tree;
  (void)arena;
  (void)mode;
  refuse();
  return NULL;
}
int PyCompile_OpcodeStackEffect(int opcode, int oparg) {
  (void)opcode;
  (void)oparg;
  return PY_INVALID_STACK_EFFECT;
}
PyCodeObject* _PyAST_Compile(mod_ty tree, PyObject* file, PyCompilerFlags* flags, int optimize,
                             PyArena* arena) {
  (void)tree;
  (void)file;
  (void)flags;
  (void)optimize;
  (void)arena;
  refuse();
  return NULL;
}
int _PyCompile_AstOptimize(mod_ty tree, PyObject* file, PyCompilerFlags* flags, int optimize,
                           PyArena* arena) {
  (void)tree;
  (void)file;
  (void)flags;
  (void)optimize;
  (void)arena;
  refuse();
  return -1;
}
int _PyAST_Validate(mod_ty tree) {
  (void)tree;
  return 0;
}
void _PyAST_Fini(PyInterpreterState* interp) { (void)interp; }

PyTypeObject PySTEntry_Type = {
    PyVarObject_HEAD_INIT(&PyType_Type, 0).tp_name = "symtable entry",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
};
PyTypeObject _PyInstructionSequence_Type = {
    PyVarObject_HEAD_INIT(&PyType_Type, 0).tp_name = "InstructionSequence",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
};

mod_ty _PyParser_ASTFromFile(FILE* file, PyObject* name, const char* encoding, int mode, const char* ps1,
                             const char* ps2, PyCompilerFlags* flags, int* error, PyArena* arena) {
  (void)file;
  (void)name;
  (void)encoding;
  (void)mode;
  (void)ps1;
  (void)ps2;
  (void)flags;
  (void)error;
  (void)arena;
  refuse();
  return NULL;
}
mod_ty _PyParser_ASTFromString(const char* text, PyObject* name, int mode, PyCompilerFlags* flags,
                               PyArena* arena) {
  (void)text;
  (void)name;
  (void)mode;
  (void)flags;
  (void)arena;
  refuse();
  return NULL;
}
mod_ty _PyParser_InteractiveASTFromFile(FILE* file, PyObject* name, const char* encoding, int mode,
                                        const char* ps1, const char* ps2, PyCompilerFlags* flags, int* error,
                                        PyObject** source, PyArena* arena) {
  (void)source;
  return _PyParser_ASTFromFile(file, name, encoding, mode, ps1, ps2, flags, error, arena);
}
char* _PyTokenizer_FindEncodingFilename(int fd, PyObject* name) {
  (void)fd;
  (void)name;
  return NULL;
}

/* Private names of classes: needed by type creation, lives in compile.c. */
PyObject* _Py_Mangle(PyObject* class_name, PyObject* name) {
  if (class_name == NULL || !PyUnicode_Check(class_name)) return Py_NewRef(name);
  const Py_ssize_t length = PyUnicode_GET_LENGTH(name);
  if (length < 2 || PyUnicode_READ_CHAR(name, 0) != '_' || PyUnicode_READ_CHAR(name, 1) != '_')
    return Py_NewRef(name);
  const int dunder =
      PyUnicode_READ_CHAR(name, length - 1) == '_' && PyUnicode_READ_CHAR(name, length - 2) == '_';
  if (dunder || PyUnicode_FindChar(name, '.', 0, length, 1) != -1) return Py_NewRef(name);
  Py_ssize_t first = 0;
  const Py_ssize_t class_length = PyUnicode_GET_LENGTH(class_name);
  while (first < class_length && PyUnicode_READ_CHAR(class_name, first) == '_') ++first;
  if (first == class_length) return Py_NewRef(name);
  PyObject* bare = PyUnicode_Substring(class_name, first, class_length);
  if (bare == NULL) return NULL;
  PyObject* mangled = PyUnicode_FromFormat("_%U%U", bare, name);
  Py_DECREF(bare);
  return mangled;
}

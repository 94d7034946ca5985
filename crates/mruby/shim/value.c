/*
 * Values: what kind a value is, making and reading strings, arrays, hashes, symbols and data objects.
 * Knows no fibres and no host. Functions without a status cannot raise.
 */
#include "shim.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/string.h>
#include <mruby/variable.h>

_Static_assert(sizeof(mrb_value) == 16, "Rust's RawValue mirrors an unboxed mrb_value");
_Static_assert(_Alignof(mrb_value) == 8 && _Alignof(struct RString) == 8, "memory.rs aligns blocks to 8 bytes");
_Static_assert(MRB_TT_FALSE == 0, "Rust's RawValue::NIL is a payload and a tag of zeros");
_Static_assert(sizeof(mrb_sym) == 4, "Rust hands over names of records as numbers of 32 bits");

int ts_kind(mrb_value v) {
  switch (mrb_type(v)) {
    case MRB_TT_FALSE: return mrb_nil_p(v) ? TS_NIL : TS_FALSE;
    case MRB_TT_TRUE: return TS_TRUE;
    case MRB_TT_INTEGER: return TS_INTEGER;
    case MRB_TT_FLOAT: return TS_FLOAT;
    case MRB_TT_SYMBOL: return TS_SYMBOL;
    case MRB_TT_STRING: return TS_STRING;
    case MRB_TT_ARRAY: return TS_ARRAY;
    case MRB_TT_HASH: return TS_HASH;
    case MRB_TT_PROC: return TS_PROC;
    case MRB_TT_DATA: return TS_DATA;
    case MRB_TT_EXCEPTION: return TS_EXCEPTION;
    case MRB_TT_FIBER: return TS_FIBER;
    case MRB_TT_CLASS: case MRB_TT_MODULE: case MRB_TT_SCLASS: return TS_CLASS;
    case MRB_TT_RANGE: return TS_RANGE;
    case MRB_TT_BIGINT: return TS_BIGINT;
    default: return TS_OBJECT;
  }
}

mrb_value ts_bool(int b) { return mrb_bool_value(b); }
mrb_value ts_symbol(uint32_t sym) { return mrb_symbol_value((mrb_sym)sym); }
mrb_value ts_integer(ts_vm *vm, int64_t i) { return mrb_int_value(vm->mrb, i); }
mrb_value ts_float(ts_vm *vm, double f) { return mrb_float_value(vm->mrb, f); }
int64_t ts_integer_value(mrb_value v) { return mrb_integer(v); }
double ts_float_value(mrb_value v) { return mrb_float(v); }
uint32_t ts_symbol_value(mrb_value v) { return mrb_symbol(v); }
const char *ts_symbol_name(ts_vm *vm, uint32_t sym, mrb_int *len) { return mrb_sym_name_len(vm->mrb, sym, len); }

const char *ts_string_bytes(mrb_value v, mrb_int *len) {
  *len = RSTRING_LEN(v);
  return RSTRING_PTR(v);
}

mrb_int ts_array_len(mrb_value v) { return RARRAY_LEN(v); }

mrb_value ts_array_at(ts_vm *vm, mrb_value v, mrb_int i) {
  mrb_value element = mrb_ary_entry(v, i);
  mrb_gc_protect(vm->mrb, element);
  return element;
}

mrb_int ts_hash_len(ts_vm *vm, mrb_value v) { return mrb_hash_size(vm->mrb, v); }

mrb_value ts_class_of(ts_vm *vm, mrb_value v) {
  mrb_value class = mrb_obj_value(mrb_obj_class(vm->mrb, v));
  mrb_gc_protect(vm->mrb, class); /* the object may go before it */
  return class;
}
/* mrb_obj_is_kind_of raises for what is no class; here that is checked before. */
int ts_is_a(ts_vm *vm, mrb_value v, mrb_value class) {
  const struct RClass *wanted = mrb_class_ptr(class);
  for (const struct RClass *c = mrb_class(vm->mrb, v); c; c = c->super)
    if (c == wanted || c->mt == wanted->mt) return 1;
  return 0;
}
int ts_responds_to(ts_vm *vm, mrb_value v, uint32_t sym) { return mrb_respond_to(vm->mrb, v, sym); }
int ts_same(mrb_value a, mrb_value b) {
  return mrb_type(a) == mrb_type(b) && (mrb_immediate_p(a) ? a.value.i == b.value.i : a.value.p == b.value.p);
}

static void drop_data(mrb_state *mrb, void *pointer) {
  if (pointer) ts_host_drop_data(mrb->allocf_ud, pointer);
}
static const mrb_data_type data_type = { "Tsumugi::Data", drop_data };

void *ts_data_pointer(mrb_value v) {
  return mrb_type(v) == MRB_TT_DATA && DATA_TYPE(v) == &data_type ? DATA_PTR(v) : NULL;
}

/* Instances of this class and its subclasses carry a Rust pointer. */
void ts_class_carries_data(mrb_value class) { MRB_SET_INSTANCE_TT(mrb_class_ptr(class), MRB_TT_DATA); }

/* Bodies of what can raise. Each takes its arguments in a struct and answers a value. */
struct bytes { const char *bytes; size_t len; };
static mrb_value string_body(mrb_state *mrb, void *p) {
  struct bytes *a = p;
  return mrb_str_new(mrb, a->bytes, a->len);
}
static mrb_value intern_body(mrb_state *mrb, void *p) {
  struct bytes *a = p;
  return mrb_symbol_value(mrb_intern(mrb, a->bytes, a->len));
}
static mrb_value array_body(mrb_state *mrb, void *p) { return mrb_ary_new_capa(mrb, *(mrb_int *)p); }
static mrb_value hash_body(mrb_state *mrb, void *p) { return mrb_hash_new_capa(mrb, *(mrb_int *)p); }

struct values { size_t len; const mrb_value *values; };
static mrb_value array_of_body(mrb_state *mrb, void *p) {
  struct values *a = p;
  return mrb_ary_new_from_values(mrb, (mrb_int)a->len, a->values);
}

/* Without names a record is an Array. */
struct records { size_t len; const uint32_t *names; size_t count; const ts_field *fields; mrb_value array; };
static mrb_value field_value(mrb_state *mrb, const ts_field *field) {
  return field->bytes ? mrb_str_new(mrb, field->bytes, (mrb_int)field->len) : field->value;
}
static mrb_value record(mrb_state *mrb, const struct records *r, const ts_field *field) {
  mrb_int len = (mrb_int)r->len;
  mrb_value made = r->names ? mrb_hash_new_capa(mrb, len) : mrb_ary_new_capa(mrb, len);
  int arena = mrb_gc_arena_save(mrb);
  for (size_t i = 0; i < r->len; i++, field++) {
    mrb_value value = field_value(mrb, field);
    if (r->names) mrb_hash_set(mrb, made, mrb_symbol_value((mrb_sym)r->names[i]), value);
    else mrb_ary_push(mrb, made, value);
    mrb_gc_arena_restore(mrb, arena);
  }
  return made;
}
static mrb_value records_body(mrb_state *mrb, void *p) {
  const struct records *r = p;
  if (!mrb_array_p(r->array)) return record(mrb, r, r->fields);
  int arena = mrb_gc_arena_save(mrb);
  for (size_t i = 0; i < r->count; i++) {
    mrb_ary_push(mrb, r->array, record(mrb, r, r->fields + i * r->len));
    mrb_gc_arena_restore(mrb, arena);
  }
  return r->array;
}

struct three { mrb_value a, b, c; uint32_t sym; void *pointer; };
static mrb_value push_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  mrb_ary_push(mrb, t->a, t->b);
  return t->a;
}
struct element { mrb_value array, value; mrb_int index; };
static mrb_value array_set_body(mrb_state *mrb, void *p) {
  struct element *e = p;
  mrb_ary_set(mrb, e->array, e->index, e->value);
  return e->array;
}
static mrb_value hash_set_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  mrb_hash_set(mrb, t->a, t->b, t->c);
  return t->a;
}
static mrb_value hash_fetch_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  return mrb_hash_fetch(mrb, t->a, t->b, t->c);
}
static mrb_value ivar_set_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  mrb_iv_set(mrb, t->a, t->sym, t->b);
  return t->b;
}
static mrb_value data_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  return mrb_obj_value(mrb_data_object_alloc(mrb, mrb_class_ptr(t->a), t->pointer, &data_type));
}

int ts_string(ts_vm *vm, const char *bytes, size_t len, mrb_value *out) {
  struct bytes a = { bytes, len };
  return protect(vm, string_body, &a, out);
}
int ts_intern(ts_vm *vm, const char *bytes, size_t len, mrb_value *out) {
  struct bytes a = { bytes, len };
  return protect(vm, intern_body, &a, out);
}
int ts_array(ts_vm *vm, mrb_int capacity, mrb_value *out) { return protect(vm, array_body, &capacity, out); }
int ts_array_of(ts_vm *vm, const mrb_value *values, size_t len, mrb_value *out) {
  struct values a = { len, values };
  return protect(vm, array_of_body, &a, out);
}
/* A Hash of names and fields, or an Array of fields when there are no names; or, when `array` is one, `count` of them, which are
   pushed onto it and protected by it alone. */
int ts_records(ts_vm *vm, size_t len, const uint32_t *names, size_t count, const ts_field *fields, mrb_value array,
               mrb_value *out) {
  struct records r = { len, names, count, fields, array };
  return protect(vm, records_body, &r, out);
}
int ts_hash(ts_vm *vm, mrb_int capacity, mrb_value *out) { return protect(vm, hash_body, &capacity, out); }
int ts_array_push(ts_vm *vm, mrb_value array, mrb_value element, mrb_value *out) {
  struct three t = { .a = array, .b = element };
  return protect(vm, push_body, &t, out);
}
int ts_array_set(ts_vm *vm, mrb_value array, mrb_int index, mrb_value value, mrb_value *out) {
  struct element e = { array, value, index };
  return protect(vm, array_set_body, &e, out);
}
int ts_hash_set(ts_vm *vm, mrb_value hash, mrb_value key, mrb_value value, mrb_value *out) {
  struct three t = { .a = hash, .b = key, .c = value };
  return protect(vm, hash_set_body, &t, out);
}
int ts_hash_fetch(ts_vm *vm, mrb_value hash, mrb_value key, mrb_value fallback, mrb_value *out) {
  struct three t = { .a = hash, .b = key, .c = fallback };
  return protect(vm, hash_fetch_body, &t, out);
}
int ts_ivar_set(ts_vm *vm, mrb_value object, uint32_t sym, mrb_value value, mrb_value *out) {
  struct three t = { .a = object, .b = value, .sym = sym };
  return protect(vm, ivar_set_body, &t, out);
}
mrb_value ts_ivar(ts_vm *vm, mrb_value object, uint32_t sym) {
  mrb_value value = mrb_iv_get(vm->mrb, object, sym);
  mrb_gc_protect(vm->mrb, value);
  return value;
}
int ts_data(ts_vm *vm, mrb_value class, void *pointer, mrb_value *out) {
  struct three t = { .a = class, .pointer = pointer };
  return protect(vm, data_body, &t, out);
}

/* The entries of a Hash, each protected as long as the scope of who asks. `visit` must not call into the VM. */
struct each { void (*visit)(void *, mrb_value, mrb_value); void *context; };
static int each_entry(mrb_state *mrb, mrb_value key, mrb_value value, void *p) {
  struct each *e = p;
  mrb_gc_protect(mrb, key);
  mrb_gc_protect(mrb, value);
  e->visit(e->context, key, value);
  return 0;
}
void ts_hash_each(ts_vm *vm, mrb_value hash, void (*visit)(void *, mrb_value, mrb_value), void *context) {
  struct each e = { visit, context };
  mrb_hash_foreach(vm->mrb, mrb_hash_ptr(hash), each_entry, &e);
}

/* Global variables */
static mrb_value global_set_body(mrb_state *mrb, void *p) {
  struct three *t = p;
  mrb_gv_set(mrb, t->sym, t->a);
  return mrb_nil_value();
}
int ts_global_set(ts_vm *vm, uint32_t sym, mrb_value value, mrb_value *out) {
  struct three t = { .a = value, .sym = sym };
  return protect(vm, global_set_body, &t, out);
}
mrb_value ts_global(ts_vm *vm, uint32_t sym) {
  mrb_value value = mrb_gv_get(vm->mrb, sym);
  mrb_gc_protect(vm->mrb, value);
  return value;
}

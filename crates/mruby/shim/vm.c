/*
 * The VM itself: opening and closing, compiling, calling, natives, fibres, the interrupt hook.
 * mrb->ud is the ts_vm. Everything runs on the VM's own thread but ts_interrupt and ts_entry.
 */
#include "shim.h"
#include "limits.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/error.h>
#include <mruby/gc.h>
#include <mruby/hash.h>
#include <mruby/internal.h>
#include <mruby/irep.h>
#include <mruby/proc.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <stdlib.h>
#include <string.h>

#define vm_of(mrb) ((ts_vm *)(mrb)->ud)

/* mrb is NULL for the first allocation. */
static void *allocate(mrb_state *mrb, void *pointer, size_t size, void *memory) {
  if (mrb && (mrb->gc.exempt || mrb->gc.arena_resized)) return ts_host_realloc_exempt(memory, pointer, size);
  return ts_host_realloc(memory, pointer, size);
}
/* Of a VM with faults (src/faults.rs). */
static void *allocate_or_fail(mrb_state *mrb, void *pointer, size_t size, void *memory) {
  if (mrb && (mrb->gc.exempt || mrb->gc.arena_resized)) return ts_host_realloc_exempt(memory, pointer, size);
  return ts_host_realloc_or_fail(memory, pointer, size);
}
void ts_exempt(ts_vm *vm, int change) { vm->mrb->gc.exempt += (uint32_t)change; }

/* The hook runs before every instruction while it is armed (build/dispatch.rs). */
static void arm(mrb_state *mrb) { __atomic_store_n(&mrb->dispatch, mrb->dispatch_hooked, __ATOMIC_RELEASE); }
static void disarm(mrb_state *mrb) { __atomic_store_n(&mrb->dispatch, mrb->dispatch_plain, __ATOMIC_RELAXED); }

/* Armed when the watchdog asks (ts_interrupt), and when a fibre is resumed to raise. */
static void hook(mrb_state *mrb, const mrb_irep *irep, const mrb_code *pc, mrb_value *regs) {
  ts_vm *vm = vm_of(mrb);
  (void)regs;
  if (irep == mrb_proc_ptr(vm->pump)->body.irep) return; /* raise in the fibre, not in what resumes it */
  if (vm->throws && mrb->c == mrb->root_c) return;       /* an application may have Ruby of its own around Fiber#resume */
  disarm(mrb);
  if (vm->throws) {
    vm->throws = 0;
    /* A request of the watchdog's waits for the next instruction. An exchange of nothing, because a load could pass the store. */
    if (__atomic_or_fetch(&vm->interrupt, 0, __ATOMIC_ACQ_REL)) arm(mrb);
    mrb_exc_raise(mrb, vm->thrown); /* ci->pc is behind the call that waited, so it is that call that raises */
  }
  int asked = __atomic_exchange_n(&vm->interrupt, 0, __ATOMIC_ACQUIRE);
  if (!asked || __atomic_load_n(&vm->interrupt_entry, __ATOMIC_RELAXED) != vm->entry) return;
  if (asked & TS_INTERRUPT_REPORT) {
    const char *file;
    int32_t line = 0;
    mrb->c->ci->pc = pc + 1; /* the last instructions may have written no place down (build/dispatch.rs) */
    ts_where_in(mrb, &file, &line);
    ts_host_slow(vm->host, file, line);
  }
  if (asked & TS_INTERRUPT_INSIST) {
    /* Stay armed: raise again at each instruction of the application until control is back in our own code. */
    __atomic_or_fetch(&vm->interrupt, TS_INTERRUPT_INSIST, __ATOMIC_RELAXED);
    arm(mrb);
    if (ts_own_code_runs(mrb)) return;
    asked |= TS_INTERRUPT_STOP;
  }
  if (asked & TS_INTERRUPT_STOP) {
    /* ci->pc still names the previous instruction, and by it the VM chooses the rescue clause: one that has just been
       entered would be chosen again, for ever. */
    mrb->c->ci->pc = pc + 1;
    mrb_raise(mrb, vm->overrun, OVERRUN);
  }
}

/* Any thread, while the VM is open (the Rust side holds a lock that closing takes too). */
void ts_interrupt(ts_vm *vm, int what, uint64_t entry) {
  __atomic_store_n(&vm->interrupt_entry, entry, __ATOMIC_RELAXED);
  __atomic_or_fetch(&vm->interrupt, what, __ATOMIC_RELEASE);
  arm(vm->mrb);
}
/* For loops of the host's own, which have no instructions: is it asked to stop? The request is answered by asking. */
int ts_overran(ts_vm *vm) {
  int asked = __atomic_load_n(&vm->interrupt, __ATOMIC_ACQUIRE);
  if (!(asked & (TS_INTERRUPT_STOP | TS_INTERRUPT_INSIST))) return 0;
  if (__atomic_load_n(&vm->interrupt_entry, __ATOMIC_RELAXED) != vm->entry) return 0;
  disarm(vm->mrb);
  __atomic_store_n(&vm->interrupt, 0, __ATOMIC_RELAXED);
  return 1;
}
uint64_t ts_entry(ts_vm *vm) { return __atomic_load_n(&vm->entry, __ATOMIC_RELAXED); }

static void enter(ts_vm *vm) {
  __atomic_store_n(&vm->entry, vm->entry + 1, __ATOMIC_RELAXED);
}
void ts_entered(ts_vm *vm) { enter(vm); }

/* Compiles the program that resumes a fibre. It runs at the base of the root context, where no C frame is in between:
   from 3.2 on, Fiber#resume refuses to be called below one. */
static struct RProc *compiled(mrb_state *mrb, mrbc_context *cxt, const char *source) {
  struct mrb_parser_state *parser = mrb_parse_string(mrb, source, cxt);
  if (!parser) return NULL;
  struct RProc *proc = mrb_generate_code(mrb, parser);
  mrb_parser_free(parser);
  return proc;
}
static void make_pump(ts_vm *vm) {
  mrb_state *mrb = vm->mrb;
  mrb->gc.exempt++;
  mrbc_context *cxt = mrbc_context_new(mrb);
  mrbc_filename(mrb, cxt, TS_OWN_FILE_PREFIX "pump");
  mrb->gc.exempt--;
  struct RProc *pump = compiled(mrb, cxt, "f = nil; v = nil") ? compiled(mrb, cxt, "f.resume(v)") : NULL;
  mrbc_context_free(mrb, cxt);
  if (!pump) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
  vm->pump = mrb_obj_value(pump);
  mrb_gc_register(mrb, vm->pump);
}

/* `Tsumugi.run_program(proc)`: runs a compiled file in the calling fibre without a C frame, so that it may wait. */
static mrb_value run_program(mrb_state *mrb, mrb_value self) {
  mrb_value program = mrb_get_arg1(mrb);
  (void)self;
  mrb_check_type(mrb, program, MRB_TT_PROC);
  mrb->c->ci->n = 0;
  mrb->c->ci->nk = 0;
  mrb->c->ci->stack[1] = mrb_nil_value();
  mrb_vm_ci_target_class_set(mrb->c->ci, mrb->object_class);
  return mrb_exec_irep(mrb, mrb_top_self(mrb), mrb_proc_ptr(program));
}

/* `Fiber.yield`, refused where it would hand the host's own fibre back to the host, which waits for no such thing. */
static mrb_value fiber_yield(mrb_state *mrb, mrb_value self) {
  const mrb_value *argv;
  mrb_int argc;
  (void)self;
  mrb_get_args(mrb, "*!", &argv, &argc);
  if (mrb->c->prev && mrb->c->prev == mrb->root_c)
    mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "FiberError")),
              "Fiber.yield is for a Fiber of your own; a handler is parked by what it waits for");
  return mrb_fiber_yield(mrb, argc, argv);
}

/* `Fiber#transfer` leaves a fibre for good, and what it transfers to ends in whoever resumed nobody: the host. */
static mrb_value fiber_transfer(mrb_state *mrb, mrb_value self) {
  const mrb_value *argv;
  mrb_int argc;
  mrb_get_args(mrb, "*!", &argv, &argc);
  if (((struct RFiber *)mrb_ptr(self))->cxt != mrb->c)
    mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "FiberError")),
              "a handler's fibre cannot be left: Fiber#transfer is refused, use resume");
  return argc == 0 ? mrb_nil_value() : argc == 1 ? argv[0] : mrb_ary_new_from_values(mrb, argc, argv);
}

/* Objects of these classes are nothing before they are made from something else. */
static void undefine_allocators(mrb_state *mrb) {
  static const char *const names[] = { "Proc", "Method", "UnboundMethod" };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    mrb_undef_class_method(mrb, mrb_class_get(mrb, names[i]), "allocate");
}

static mrb_value setup(mrb_state *mrb, void *p) {
  ts_vm *vm = p;
  mrb->code_fetch_hook = hook; /* not armed yet */
  /* It is one for all: what a rescue clause does to it would stand in all that follow. */
  MRB_SET_FROZEN_FLAG(mrb_class_ptr(mrb_singleton_class(mrb, mrb_obj_value(mrb->nomem_err))));
  MRB_SET_FROZEN_FLAG((struct RBasic *)((struct RException *)mrb->nomem_err)->mesg);
  MRB_SET_FROZEN_FLAG(mrb->nomem_err);
  make_pump(vm);
  vm->roots = mrb_ary_new_capa(mrb, 64); /* the first of them need no more memory */
  mrb_gc_register(mrb, vm->roots);
  mrb_ary_push(mrb, vm->roots, mrb_obj_value(mrb->nomem_err)); /* root.rs: the first slot */
  /* What has no class is not shown by ObjectSpace. */
  mrb_ary_ptr(vm->roots)->c = NULL;
  mrb_ary_ptr(mrb_gv_get(mrb, mrb_intern_lit(mrb, "_gc_root_")))->c = NULL;
  struct RClass *module = mrb_define_module(mrb, "Tsumugi");
  vm->overrun = mrb_define_class_under(mrb, module, "Overrun", mrb->eException_class);
  mrb_define_module_function(mrb, module, "run_program", run_program, MRB_ARGS_REQ(1));
  mrb_define_class_method(mrb, mrb_class_get(mrb, "Fiber"), "yield", fiber_yield, MRB_ARGS_ANY());
  mrb_define_method(mrb, mrb_class_get(mrb, "Fiber"), "transfer", fiber_transfer, MRB_ARGS_ANY());
  undefine_allocators(mrb);
  ts_guard_natives(mrb);
  ts_reraise(mrb);
  return mrb_nil_value();
}

ts_vm *ts_open(void *host, void *memory, int faulty) {
  ts_vm *vm = calloc(1, sizeof *vm);
  if (!vm) return NULL;
  vm->host = host;
  ts_choose_hash_key();
  vm->mrb = mrb_open_allocf(faulty ? allocate_or_fail : allocate, memory);
  if (!vm->mrb) { free(vm); return NULL; }
  vm->mrb->ud = vm;
  vm->mrb->gc.bytes = memory; /* it begins with the two that the collector counts */
  mrb_value made;
  if (protect(vm, setup, vm, &made) == TS_RAISED) { mrb_close(vm->mrb); free(vm); return NULL; }
  return vm;
}

/* Of a program that Ruby itself compiles (`eval` and its relatives); 0 for no limit. */
void ts_eval_bytes_max(ts_vm *vm, size_t max) { vm->mrb->eval_bytes_max = max; }

void ts_close(ts_vm *vm) {
  disarm(vm->mrb);
  ts_exempt(vm, 1); /* what closing allocates */
  mrb_close(vm->mrb);
  free(vm);
}

/* Names and classes */
struct definition { mrb_value under; const char *name; mrb_value super; int64_t index; int waits; int singleton; };
static mrb_value module_body(mrb_state *mrb, void *p) {
  struct definition *d = p;
  return mrb_obj_value(mrb_nil_p(d->under) ? mrb_define_module(mrb, d->name)
                                           : mrb_define_module_under(mrb, mrb_class_ptr(d->under), d->name));
}
static mrb_value class_body(mrb_state *mrb, void *p) {
  struct definition *d = p;
  struct RClass *super = mrb_class_ptr(d->super);
  return mrb_obj_value(mrb_nil_p(d->under) ? mrb_define_class(mrb, d->name, super)
                                           : mrb_define_class_under(mrb, mrb_class_ptr(d->under), d->name, super));
}
int ts_define_module(ts_vm *vm, mrb_value under, const char *name, mrb_value *out) {
  struct definition d = { .under = under, .name = name };
  return protect(vm, module_body, &d, out);
}
int ts_define_class(ts_vm *vm, mrb_value under, const char *name, mrb_value super, mrb_value *out) {
  struct definition d = { .under = under, .name = name, .super = super };
  return protect(vm, class_body, &d, out);
}
mrb_value ts_object_class(ts_vm *vm) { return mrb_obj_value(vm->mrb->object_class); }
mrb_value ts_top_self(ts_vm *vm) { return mrb_top_self(vm->mrb); }

/* Natives */
#define CANNOT_WAIT "cannot wait here: "
static void refuse_wait(mrb_state *mrb, const char *reason) {
  mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "FiberError")), reason);
}
static void check_wait(mrb_state *mrb) {
  struct mrb_context *c = mrb->c;
  if (c == mrb->root_c)
    refuse_wait(mrb, CANNOT_WAIT "this code was not started as a fibre (a to_json, to_s or inspect called for the response)");
  if (c->prev != mrb->root_c)
    refuse_wait(mrb, CANNOT_WAIT "a Fiber of your own (or Enumerator#next) is between the wait and the handler; "
                          "wait outside of it, or use `parallel`");
  for (const mrb_callinfo *ci = c->ci; ci >= c->cibase; ci--)
    if (ci->cci > 0)
      refuse_wait(mrb, CANNOT_WAIT "native code called this block (a Hash default proc, Class.new { }, "
                            "to_s from \"#{}\" or join, hash or eql? of a Hash key); compute the value before");
}
static mrb_value trampoline(mrb_state *mrb, mrb_value self) {
  const mrb_value *argv;
  mrb_int argc;
  mrb_value block, out = mrb_nil_value();
  const mrb_callinfo *ci = mrb->c->ci;
  const mrb_value *env = MRB_PROC_ENV(ci->proc)->stack; /* as native_body made it; closed, so it never moves */
  int64_t index = mrb_integer(env[0]);
  if (mrb_bool(env[1])) check_wait(mrb);
  int arena = mrb_gc_arena_save(mrb);
  if (ci->n < 15 && ci->nk == 0) { /* as most calls are: no splat, no keywords, so the stack is receiver, arguments, block */
    argc = ci->n;
    argv = ci->stack + 1;
    block = ci->stack[argc + 1];
  } else {
    mrb_get_args(mrb, "*!&", &argv, &argc, &block);
    /* They may be elements of an Array of the application's, which it empties while the native runs Ruby. */
    for (mrb_int i = 0; i < argc; i++) mrb_gc_protect(mrb, argv[i]);
  }
  int status = ts_host_dispatch(vm_of(mrb)->host, index, self, argc, argv, block, &out);
  mrb_gc_arena_restore(mrb, arena);
  mrb_gc_protect(mrb, out);
  if (status == TS_RAISED) mrb_exc_raise(mrb, out);
  if (status == TS_YIELD) return mrb_fiber_yield(mrb, 1, &out);
  return out;
}
static mrb_value native_body(mrb_state *mrb, void *p) {
  struct definition *d = p;
  mrb_value env[2] = { mrb_int_value(mrb, d->index), mrb_bool_value(d->waits) };
  struct RProc *proc = mrb_proc_new_cfunc_with_env(mrb, trampoline, 2, env);
  mrb_method_t method;
  MRB_METHOD_FROM_PROC(method, proc);
  struct RClass *class = mrb_class_ptr(d->under);
  if (d->singleton) {
    mrb_value object = d->under;
    class = mrb_class_ptr(mrb_singleton_class(mrb, object));
  }
  mrb_define_method_raw(mrb, class, mrb_intern_cstr(mrb, d->name), method);
  return mrb_nil_value();
}
int ts_define_native(ts_vm *vm, mrb_value class, const char *name, int64_t index, int waits, int singleton, mrb_value *out) {
  struct definition d = { .under = class, .name = name, .index = index, .waits = waits, .singleton = singleton };
  return protect(vm, native_body, &d, out);
}

/* Constants */
struct constant { mrb_value holder; uint32_t sym; };
static mrb_value constant_body(mrb_state *mrb, void *p) {
  struct constant *c = p;
  return mrb_const_get(mrb, c->holder, c->sym);
}
int ts_constant(ts_vm *vm, mrb_value holder, uint32_t sym, mrb_value *out) {
  struct constant c = { holder, sym };
  return protect(vm, constant_body, &c, out);
}

/* Calls */
struct call { mrb_value self; uint32_t sym; mrb_int argc; const mrb_value *argv; mrb_value block; };
static mrb_value call_body(mrb_state *mrb, void *p) {
  struct call *c = p;
  return mrb_funcall_with_block(mrb, c->self, c->sym, c->argc, c->argv, c->block);
}
int ts_call(ts_vm *vm, mrb_value self, uint32_t sym, mrb_int argc, const mrb_value *argv, mrb_value block, mrb_value *out) {
  struct call c = { self, sym, argc, argv, block };
  return protect(vm, call_body, &c, out);
}

struct program { const char *source; size_t len; const char *file; int32_t line; void *errors; };
static mrb_value compile_body(mrb_state *mrb, void *p) {
  struct program *a = p;
  mrb->gc.exempt++;
  mrbc_context *cxt = mrbc_context_new(mrb);
  cxt->capture_errors = TRUE;
  cxt->lineno = (uint16_t)a->line;
  mrbc_filename(mrb, cxt, a->file);
  mrb->gc.exempt--;
  struct mrb_parser_state *parser = mrb_parse_nstring(mrb, a->source, a->len, cxt);
  struct RProc *proc = NULL;
  if (parser && parser->nerr > 0) {
    size_t n = parser->nerr < 10 ? parser->nerr : 10;
    for (size_t i = 0; i < n; i++)
      if (parser->error_buffer[i].message)
        ts_host_syntax_error(a->errors, parser->error_buffer[i].lineno, parser->error_buffer[i].column,
                             parser->error_buffer[i].message);
  } else if (parser) {
    proc = mrb_generate_code(mrb, parser);
    if (!proc) ts_host_syntax_error(a->errors, a->line, 0, "the program is too large or too deeply nested to compile");
  }
  if (parser) mrb_parser_free(parser);
  mrbc_context_free(mrb, cxt);
  mrb->exc = NULL; /* the compiler leaves what it raised for itself */
  if (!parser) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));
  if (!proc) return mrb_nil_value();
  proc->upper = NULL;
  MRB_PROC_SET_TARGET_CLASS(proc, mrb->object_class);
  return mrb_obj_value(proc);
}
int ts_compile(ts_vm *vm, const char *source, size_t len, const char *file, int32_t line, void *errors, mrb_value *out) {
  struct program a = { source, len, file, line, errors };
  return protect(vm, compile_body, &a, out);
}
/* Fibres. Only from the root context with nothing running: Rust asserts that. */
struct resume { mrb_value fiber, value; int raises; };
static mrb_value resume_body(mrb_state *mrb, void *p) {
  struct resume *r = p;
  ts_vm *vm = vm_of(mrb);
  ((struct RFiber *)mrb_ptr(r->fiber))->flags |= MRB_FL_FIBER_OF_HOST;
  mrb_value *stack = mrb->c->ci->stack;
  stack[1] = r->fiber;
  stack[2] = r->raises ? mrb_nil_value() : r->value;
  if (r->raises) {
    vm->thrown = r->value;
    vm->throws = 1;
    arm(mrb);
  }
  mrb_value result = mrb_vm_run(mrb, mrb_proc_ptr(vm->pump), mrb_top_self(mrb), 3);
  if (mrb->exc) {
    mrb_value exception = mrb_obj_value(mrb->exc);
    mrb->exc = NULL;
    mrb_exc_raise(mrb, exception);
  }
  return result;
}
/* Hands `value` to what the fibre waits in, or raises it there. */
int ts_resume(ts_vm *vm, mrb_value fiber, mrb_value value, int raises, mrb_value *out) {
  struct resume r = { fiber, value, raises };
  enter(vm);
  int status = protect(vm, resume_body, &r, out);
  vm->throws = 0; /* a fibre that could not be resumed raised an error of its own */
  return status;
}
/* Empties the stack of a fibre that yielded, but for self. For a loop that sets its variables before it reads them: what it worked
   on last is not kept until it works again. */
void ts_forget(mrb_value fiber) {
  struct mrb_context *c = ((struct RFiber *)mrb_ptr(fiber))->cxt;
  if (!c || c->status != MRB_FIBER_SUSPENDED) return;
  mrb_value *end = c->ci->stack + mrb_ci_nregs(c->ci);
  if (end > c->stend) end = c->stend;
  for (mrb_value *value = c->stbase + 1; value < end; value++) *value = mrb_nil_value();
}
int ts_at_rest(ts_vm *vm) { return vm->mrb->c == vm->mrb->root_c && vm->mrb->c->ci == vm->mrb->c->cibase; }

/* Roots, arena, collector */
struct root { mrb_int slot; mrb_value value; };
static mrb_value root_body(mrb_state *mrb, void *p) {
  struct root *r = p;
  mrb_ary_set(mrb, vm_of(mrb)->roots, r->slot, r->value);
  return mrb_nil_value();
}
int ts_root(ts_vm *vm, mrb_int slot, mrb_value value, mrb_value *out) {
  struct root r = { slot, value };
  return protect(vm, root_body, &r, out);
}
/* Emptying a slot that exists allocates nothing. */
void ts_unroot(ts_vm *vm, mrb_int slot) { RARRAY_PTR(vm->roots)[slot] = mrb_nil_value(); }
mrb_value ts_rooted(ts_vm *vm, mrb_int slot) { return RARRAY_PTR(vm->roots)[slot]; }
int ts_arena_save(ts_vm *vm) { return mrb_gc_arena_save(vm->mrb); }
void ts_arena_restore(ts_vm *vm, int arena) { mrb_gc_arena_restore(vm->mrb, arena); }
void ts_protect(ts_vm *vm, mrb_value value) { mrb_gc_protect(vm->mrb, value); }
static mrb_value collect_body(mrb_state *mrb, void *p) {
  (void)p;
  mrb_full_gc(mrb);
  return mrb_nil_value();
}
int ts_collect(ts_vm *vm, mrb_value *out) { return protect(vm, collect_body, NULL, out); }
size_t ts_live_objects(ts_vm *vm) { return vm->mrb->gc.live; }
struct exception { struct RClass *class; const char *message; size_t len; };
static mrb_value exception_body(mrb_state *mrb, void *p) {
  struct exception *e = p;
  return mrb_exc_new_str(mrb, e->class, mrb_str_new(mrb, e->message, e->len));
}
int ts_exception(ts_vm *vm, mrb_value class, const char *message, size_t len, mrb_value *out) {
  struct exception e = { mrb_class_ptr(class), message, len };
  return protect(vm, exception_body, &e, out);
}

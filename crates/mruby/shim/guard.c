/*
 * The guard of native code (build/bounds.rs puts it where mruby's own may call itself or run long): how low the C stack may
 * grow, when to stop, and the secret key of the codes by which a Hash finds Strings and Integers.
 */
#include "shim.h"
#include "limits.h"
#include <mruby/class.h>
#include <mruby/error.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define vm_of(mrb) ((ts_vm *)(mrb)->ud)

/* What native code that asks no guard may need below the floor: Rust's natives, the C library, signal handlers. */
#define STACK_RESERVE_BYTES ((size_t)1 << 20)

static char *floor_of_this_stack(void) {
#ifdef __linux__
  pthread_attr_t attributes;
  void *lowest = NULL;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
  int failed = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  if (failed) return NULL;
  size_t reserve = size / 4 < STACK_RESERVE_BYTES ? size / 4 : STACK_RESERVE_BYTES;
  return (char *)lowest + reserve;
#else
  return NULL;
#endif
}

/* The watchdog's request, as the instruction hook would answer it. */
static int interrupted(mrb_state *mrb) {
  ts_vm *vm = vm_of(mrb);
  if (vm->throws) return FALSE; /* a fibre is being resumed to raise something else */
  int asked = __atomic_load_n(&vm->interrupt, __ATOMIC_ACQUIRE);
  if (!(asked & (TS_INTERRUPT_STOP | TS_INTERRUPT_INSIST))) return FALSE;
  if (__atomic_load_n(&vm->interrupt_entry, __ATOMIC_RELAXED) != vm->entry) return FALSE;
  return (asked & TS_INTERRUPT_STOP) || !ts_own_code_runs(mrb);
}

static void interrupt(mrb_state *mrb) {
  ts_vm *vm = vm_of(mrb);
  /* What insists goes on to; the hook stays armed and takes itself off when nothing is asked any more. */
  __atomic_and_fetch(&vm->interrupt, ~TS_INTERRUPT_STOP, __ATOMIC_RELAXED);
  mrb_raise(mrb, vm->overrun, OVERRUN);
}

extern uint64_t mrb_hash_key[2];

static void choose_hash_key(void) {
  if (getrandom(mrb_hash_key, sizeof mrb_hash_key, 0) == (ssize_t)sizeof mrb_hash_key) return;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  mrb_hash_key[0] = (uint64_t)now.tv_nsec * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)(uintptr_t)&now;
  mrb_hash_key[1] = (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)choose_hash_key;
}

void ts_choose_hash_key(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, choose_hash_key);
}

void ts_guard_natives(mrb_state *mrb) {
  mrb->stack_floor = floor_of_this_stack();
  mrb->interrupted = interrupted;
  mrb->interrupt = interrupt;
}

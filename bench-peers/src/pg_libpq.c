/*
 * libpq alone, in pipeline mode: each thread keeps DEPTH queries in flight on one connection until COUNT were answered.
 * Not part of the product. `pg-libpq COUNT DEPTH URL [THREADS [SQL]]` prints `queries=N seconds=S sum=X`; a Sync follows every query.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INT4 = 23, BINARY = 1, THREADS_MAX = 1024 };

/* What every thread asks: the statement, or without one a row by its key. */
struct work {
    long count, depth;
    const char *url, *statement;
};

/* One thread's. */
struct asker {
    const struct work *work;
    pthread_t thread;
    PGconn *connection;
    uint32_t state;
    int64_t sum;
};

static void fail(const struct asker *asker, const char *doing) {
    fprintf(stderr, "%s: %s", doing, PQerrorMessage(asker->connection));
    exit(1);
}

/* The same keys in every program: a linear congruence from 1. */
static uint32_t next_key(struct asker *asker) {
    asker->state = asker->state * 1664525u + 1013904223u;
    return (asker->state >> 8) % 10000 + 1;
}

static void ask(struct asker *asker) {
    uint32_t key = htonl(next_key(asker));
    const char *values[] = {(const char *)&key};
    const int lengths[] = {sizeof key}, formats[] = {BINARY};
    const int parameters = asker->work->statement == NULL;
    if (!PQsendQueryPrepared(asker->connection, "asked", parameters, values, lengths, formats, BINARY)) fail(asker, "ask");
    if (!PQpipelineSync(asker->connection)) fail(asker, "sync");
}

/* Reads what has arrived; returns how many queries it completed. */
static long take(struct asker *asker) {
    const int column = asker->work->statement == NULL;
    long completed = 0;
    while (!PQisBusy(asker->connection)) {
        PGresult *result = PQgetResult(asker->connection);
        if (result == NULL) {
            /* The end of one query's results, or of everything that was sent. */
            if (PQisBusy(asker->connection)) break;
            result = PQgetResult(asker->connection);
            if (result == NULL) break;
        }
        switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK: {
            uint32_t number;
            if (PQntuples(result) != 1) fail(asker, "no row");
            memcpy(&number, PQgetvalue(result, 0, column), sizeof number);
            asker->sum += ntohl(number);
            break;
        }
        case PGRES_PIPELINE_SYNC: completed++; break;
        default: fail(asker, "answer");
        }
        PQclear(result);
    }
    return completed;
}

static void prepare(struct asker *asker) {
    const Oid types[] = {INT4};
    const char *statement = asker->work->statement;
    const char *text = statement ? statement : "select id, randomnumber from world where id = $1";
    asker->connection = PQconnectdb(asker->work->url);
    if (PQstatus(asker->connection) != CONNECTION_OK) fail(asker, "connect");
    PGresult *prepared = PQprepare(asker->connection, "asked", text, statement == NULL, types);
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK) fail(asker, "prepare");
    PQclear(prepared);
    if (PQsetnonblocking(asker->connection, 1) != 0 || !PQenterPipelineMode(asker->connection)) fail(asker, "pipeline");
}

static void *run(void *given) {
    struct asker *asker = given;
    const long count = asker->work->count, depth = asker->work->depth;
    prepare(asker);
    long asked = 0, answered = 0;
    while (answered < count) {
        for (; asked < count && asked - answered < depth; asked++) ask(asker);
        const int unsent = PQflush(asker->connection);
        if (unsent < 0) fail(asker, "flush");
        struct pollfd socket = {PQsocket(asker->connection), POLLIN | (unsent ? POLLOUT : 0), 0};
        if (poll(&socket, 1, -1) < 0 && errno != EINTR) fail(asker, "poll");
        if (socket.revents & POLLIN && !PQconsumeInput(asker->connection)) fail(asker, "read");
        answered += take(asker);
    }
    PQfinish(asker->connection);
    return NULL;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count_of_words, char **words) {
    const long threads = count_of_words > 4 ? atol(words[4]) : 1;
    if (count_of_words < 4 || count_of_words > 6 || threads < 1 || threads > THREADS_MAX) {
        fputs("usage: pg-libpq COUNT DEPTH URL [THREADS [SQL]]\n", stderr);
        return 2;
    }
    const struct work work = {
        .count = atol(words[1]) / threads,
        .depth = atol(words[2]),
        .url = words[3],
        .statement = count_of_words > 5 ? words[5] : NULL,
    };
    static struct asker askers[THREADS_MAX];
    const double started = seconds();
    for (long at = 0; at < threads; at++) {
        askers[at] = (struct asker){.work = &work, .state = 1};
        if (pthread_create(&askers[at].thread, NULL, run, &askers[at]) != 0) {
            fputs("there is no thread to be had\n", stderr);
            return 1;
        }
    }
    int64_t sum = 0;
    for (long at = 0; at < threads; at++) {
        pthread_join(askers[at].thread, NULL);
        sum += askers[at].sum;
    }
    printf("queries=%ld seconds=%.6f sum=%lld\n", work.count * threads, seconds() - started, (long long)sum);
    return 0;
}

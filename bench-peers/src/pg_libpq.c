/*
 * libpq alone, in pipeline mode: keeps DEPTH primary-key reads in flight on one connection until COUNT were answered.
 * Not part of the product. `pg-libpq COUNT DEPTH URL` prints `queries=N seconds=S sum=X`; a Sync follows every query.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INT4 = 23, BINARY = 1 };

static PGconn *connection;

static void fail(const char *doing) {
    fprintf(stderr, "%s: %s", doing, PQerrorMessage(connection));
    exit(1);
}

/* The same keys in every program: a linear congruence from 1. */
static uint32_t next_key(void) {
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % 10000 + 1;
}

static void ask(void) {
    uint32_t key = htonl(next_key());
    const char *values[] = {(const char *)&key};
    const int lengths[] = {sizeof key}, formats[] = {BINARY};
    if (!PQsendQueryPrepared(connection, "read", 1, values, lengths, formats, BINARY)) fail("ask");
    if (!PQpipelineSync(connection)) fail("sync");
}

/* Reads what has arrived; returns how many queries it completed. */
static long take(int64_t *sum) {
    long completed = 0;
    while (!PQisBusy(connection)) {
        PGresult *result = PQgetResult(connection);
        if (result == NULL) {
            /* The end of one query's results, or of everything that was sent. */
            if (PQisBusy(connection)) break;
            result = PQgetResult(connection);
            if (result == NULL) break;
        }
        switch (PQresultStatus(result)) {
        case PGRES_TUPLES_OK: {
            uint32_t number;
            if (PQntuples(result) != 1) fail("no row");
            memcpy(&number, PQgetvalue(result, 0, 1), sizeof number);
            *sum += ntohl(number);
            break;
        }
        case PGRES_PIPELINE_SYNC: completed++; break;
        default: fail("answer");
        }
        PQclear(result);
    }
    return completed;
}

static void prepare(const char *url) {
    const Oid types[] = {INT4};
    connection = PQconnectdb(url);
    if (PQstatus(connection) != CONNECTION_OK) fail("connect");
    PGresult *prepared = PQprepare(connection, "read", "select id, randomnumber from world where id = $1", 1, types);
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK) fail("prepare");
    PQclear(prepared);
    if (PQsetnonblocking(connection, 1) != 0 || !PQenterPipelineMode(connection)) fail("pipeline");
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count_of_words, char **words) {
    if (count_of_words != 4) {
        fputs("usage: pg-libpq COUNT DEPTH URL\n", stderr);
        return 2;
    }
    const long count = atol(words[1]), depth = atol(words[2]);
    prepare(words[3]);
    const double started = seconds();
    long asked = 0, answered = 0;
    int64_t sum = 0;
    while (answered < count) {
        for (; asked < count && asked - answered < depth; asked++) ask();
        const int unsent = PQflush(connection);
        if (unsent < 0) fail("flush");
        struct pollfd socket = {PQsocket(connection), POLLIN | (unsent ? POLLOUT : 0), 0};
        if (poll(&socket, 1, -1) < 0 && errno != EINTR) fail("poll");
        if (socket.revents & POLLIN && !PQconsumeInput(connection)) fail("read");
        answered += take(&sum);
    }
    printf("queries=%ld seconds=%.6f sum=%lld\n", count, seconds() - started, (long long)sum);
    PQfinish(connection);
    return 0;
}

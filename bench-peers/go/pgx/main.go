// pgx alone: goroutines with a connection each keep DEPTH queries in flight until COUNT were answered. Not part of the product.
// `pg-pgx COUNT DEPTH URL [THREADS [SQL]]` prints `queries=N seconds=S sum=X cpu=S`. One query in flight is asked as users ask; several go through
// pgx's pipeline, each with a Sync, and are sent anew when half of them were read: each write of a pipeline is a call of its own.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	read         = "select id, randomnumber from world where id = $1"
	statement    = "asked"
	binaryFormat = 1
)

// The same keys in every program: a linear congruence from 1.
type keys uint32

func (k *keys) next() int32 {
	*k = *k*1664525 + 1013904223
	return int32((*k>>8)%10000 + 1)
}

// What is asked again and again, and the int4 column of its answer that is added up.
type question struct {
	sql    string
	column int
	hasKey bool
}

// Asks once; the column is read into the one of the targets that is no nil, and no other is made a value, as by the programs beside this one.
func (q question) one(ctx context.Context, connection *pgx.Conn, key int32, targets []any) error {
	if q.hasKey {
		return connection.QueryRow(ctx, statement, key).Scan(targets...)
	}
	return connection.QueryRow(ctx, statement).Scan(targets...)
}

// Sends so many queries with a Sync each, in one write.
func (q question) send(pipeline *pgconn.Pipeline, keys *keys, count int) error {
	for range count {
		key := keys.next()
		if q.hasKey {
			bytes := binary.BigEndian.AppendUint32(nil, uint32(key))
			pipeline.SendQueryPrepared(statement, [][]byte{bytes}, []int16{binaryFormat}, []int16{binaryFormat})
		} else {
			pipeline.SendQueryPrepared(statement, nil, nil, []int16{binaryFormat})
		}
		pipeline.SendPipelineSync()
	}
	return pipeline.Flush()
}

// Reads the answers to so many queries.
func (q question) receive(pipeline *pgconn.Pipeline, count int) (sum int64, err error) {
	for synced := 0; synced < count; {
		results, err := pipeline.GetResults()
		if err != nil {
			return 0, err
		}
		switch results := results.(type) {
		case *pgconn.ResultReader:
			for results.NextRow() {
				sum += int64(int32(binary.BigEndian.Uint32(results.Values()[q.column])))
			}
			if _, err := results.Close(); err != nil {
				return 0, err
			}
		case *pgconn.PipelineSync:
			synced++
		}
	}
	return sum, nil
}

// Keeps half of the depth to the whole of it in flight.
func (q question) pipelined(connection *pgx.Conn, count, depth int) (sum int64, err error) {
	keys := keys(1)
	pipeline := connection.PgConn().StartPipeline(context.Background())
	asked, answered := 0, 0
	for answered < count {
		more := min(depth-(asked-answered), count-asked)
		if err := q.send(pipeline, &keys, more); err != nil {
			return 0, err
		}
		asked += more
		read := min(max(depth/2, 1), asked-answered)
		value, err := q.receive(pipeline, read)
		if err != nil {
			return 0, err
		}
		sum, answered = sum+value, answered+read
	}
	return sum, pipeline.Close()
}

func run(count, depth int, url string, q question) (int64, error) {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	prepared, err := connection.Prepare(ctx, statement, q.sql)
	if err != nil {
		return 0, err
	}
	if depth > 1 {
		return q.pipelined(connection, count, depth)
	}
	var value int32
	targets := make([]any, len(prepared.Fields))
	targets[q.column] = &value
	keys, sum := keys(1), int64(0)
	for range count {
		if err := q.one(ctx, connection, keys.next(), targets); err != nil {
			return 0, err
		}
		sum += int64(value)
	}
	return sum, nil
}

func measure(words []string) (string, error) {
	if len(words) < 3 {
		return "", errors.New("usage: pg-pgx COUNT DEPTH URL [THREADS [SQL]]")
	}
	threads := 1
	q := question{sql: read, column: 1, hasKey: true}
	if len(words) > 4 {
		q = question{sql: words[4]}
	}
	numbers := make([]int, 2, 3)
	for at := range numbers {
		var err error
		if numbers[at], err = strconv.Atoi(words[at]); err != nil {
			return "", err
		}
	}
	if len(words) > 3 {
		var err error
		if threads, err = strconv.Atoi(words[3]); err != nil {
			return "", err
		}
	}
	share, depth := numbers[0]/threads, numbers[1]
	started, before := time.Now(), processor()
	sums, faults := make([]int64, threads), make([]error, threads)
	var running sync.WaitGroup
	for at := range threads {
		running.Go(func() { sums[at], faults[at] = run(share, depth, words[2], q) })
	}
	running.Wait()
	var sum int64
	for _, each := range sums {
		sum += each
	}
	seconds, spent := time.Since(started).Seconds(), processor()-before
	line := fmt.Sprintf("queries=%d seconds=%.6f sum=%d cpu=%.6f", share*threads, seconds, sum, spent)
	return line, errors.Join(faults...)
}

// Seconds of processor time of this process.
func processor() float64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func main() {
	line, err := measure(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pg-pgx:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

// The catalogue of a Firebird database as JSON, by the Go driver firebirdsql, in four ways of having a connection: `firebird-go ADDRESS URL`.
// Not part of the product. Blobs come with their contents, bytes as base64. One processor for Go's code, as the programs beside it have.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"unicode/utf8"

	_ "github.com/nakagami/firebirdsql"
)

const (
	pool = 5
	all  = "select * from rdb$relations"
	page = "<!DOCTYPE html><html><head><title>The catalogue of a database</title></head><body><h1>The catalogue, by firebirdsql</h1></body></html>\n"
)

var parts = map[string]string{
	"ten": "select first 10 * from rdb$relations",
	"plain": "select rdb$relation_id, rdb$system_flag, rdb$dbkey_length, rdb$format, rdb$field_id, rdb$relation_name, rdb$security_class, " +
		"rdb$external_file, rdb$owner_name, rdb$default_class, rdb$flags, rdb$relation_type from rdb$relations",
}

// What a request has its rows from.
type source func(ctx context.Context, asked string) (*sql.Rows, func(), error)

func open(place string, connections int) (*sql.DB, error) {
	db, err := sql.Open("firebirdsql", place)
	if err == nil {
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
	}
	return db, err
}

func nothing() {}

func pooled(db *sql.DB) source {
	return func(ctx context.Context, asked string) (*sql.Rows, func(), error) {
		rows, err := db.QueryContext(ctx, asked)
		return rows, nothing, err
	}
}

func connecting(place string) source {
	return func(ctx context.Context, asked string) (*sql.Rows, func(), error) {
		db, err := open(place, 1)
		if err != nil {
			return nil, nothing, err
		}
		rows, err := db.QueryContext(ctx, asked)
		return rows, func() { db.Close() }, err
	}
}

// database/sql prepares each of them once a connection.
func prepared(db *sql.DB) (source, error) {
	statements := map[string]*sql.Stmt{}
	for _, asked := range append([]string{all}, parts["ten"], parts["plain"]) {
		statement, err := db.Prepare(asked)
		if err != nil {
			return nil, err
		}
		statements[asked] = statement
	}
	return func(ctx context.Context, asked string) (*sql.Rows, func(), error) {
		rows, err := statements[asked].QueryContext(ctx)
		return rows, nothing, err
	}, nil
}

// The signs of a column of type CHAR, or 0. The driver takes trailing blanks away, and this puts them back: all programs answer the same.
func width(column *sql.ColumnType) int {
	const bytesOfSign = 4
	if size, ok := column.Length(); ok && column.DatabaseTypeName() == "TEXT" {
		return int(size) / bytesOfSign
	}
	return 0
}

// Rows as an array of objects, with the columns in their order.
func array(rows *sql.Rows) ([]byte, error) {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	keys, widths := make([]string, len(columns)), make([]int, len(columns))
	for at, column := range columns {
		keys[at], widths[at] = fmt.Sprintf("%q:", strings.ToLower(column.Name())), width(column)
	}
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for at := range values {
		targets[at] = &values[at]
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	separator := byte('[')
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		text.WriteByte(separator)
		separator = ','
		for at, value := range values {
			text.WriteByte("{,"[min(at, 1)])
			text.WriteString(keys[at])
			switch contents := value.(type) {
			case []byte:
				value = base64.StdEncoding.EncodeToString(contents)
			case string:
				value = contents + strings.Repeat(" ", max(widths[at]-utf8.RuneCountInString(contents), 0))
			}
			if err := encoder.Encode(value); err != nil {
				return nil, err
			}
			// The encoder ends each value with a line feed.
			text.Truncate(text.Len() - 1)
		}
		text.WriteByte('}')
	}
	text.WriteByte(']')
	return text.Bytes(), rows.Err()
}

func relations(from source) http.HandlerFunc {
	return func(response http.ResponseWriter, request *http.Request) {
		asked, ok := parts[request.URL.Query().Get("only")]
		if !ok {
			asked = all
		}
		rows, done, err := from(request.Context(), asked)
		var body []byte
		if err == nil {
			body, err = array(rows)
			rows.Close()
		}
		done()
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		response.Header().Set("content-type", "application/json")
		response.Write(body)
	}
}

func serve(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("usage: firebird-go ADDRESS URL")
	}
	runtime.GOMAXPROCS(1)
	given, err := url.Parse(words[1])
	if err != nil {
		return err
	}
	path, err := url.PathUnescape(strings.TrimPrefix(given.EscapedPath(), "/"))
	if err != nil {
		return err
	}
	place := fmt.Sprintf("%s@%s/%s?charset=UTF8&column_name_to_lower=true", given.User, given.Host, path)
	one, err := open(place, 1)
	if err != nil {
		return err
	}
	several, err := open(place, pool)
	if err != nil {
		return err
	}
	kept, err := open(place, pool)
	if err != nil {
		return err
	}
	statements, err := prepared(kept)
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.Handle("/connect", relations(connecting(place)))
	routes.Handle("/single", relations(pooled(one)))
	routes.Handle("/pool", relations(pooled(several)))
	routes.Handle("/prepared", relations(statements))
	routes.HandleFunc("/", func(response http.ResponseWriter, _ *http.Request) {
		response.Header().Set("content-type", "text/html; charset=utf-8")
		fmt.Fprint(response, page)
	})
	return http.ListenAndServe(words[0], routes)
}

func main() {
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "firebird-go:", err)
		os.Exit(1)
	}
}

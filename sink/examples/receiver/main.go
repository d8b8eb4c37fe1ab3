// Receiver takes what listwatch-sink posts, drops what came before, and counts in a SQLite file
// what happened to which resource.
//
//	receiver -listen 127.0.0.1:8080 -db received.db
//	listwatch-sink pods --to http://127.0.0.1:8080/
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net/http"
	"time"

	_ "modernc.org/sqlite" // the driver registers itself

	"github.com/listwatch/listwatch/sink/cloudevents"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "serve at this address")
	path := flag.String("db", "received.db", "the SQLite file")
	flag.Parse()
	r, err := open(context.Background(), *path)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: *listen, Handler: r, ReadTimeout: 30 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// receiver is the handler.
type receiver struct{ db *sql.DB }

func open(ctx context.Context, path string) (*receiver, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS received (id TEXT PRIMARY KEY);
		CREATE TABLE IF NOT EXISTS counts (resource TEXT, type TEXT, n INTEGER, PRIMARY KEY (resource, type))`)
	return &receiver{db}, err
}

// maxBody limits a request: that of listwatch-sink has 1 MiB, or one larger event.
const maxBody = 65 << 20

// ServeHTTP takes a batch. It answers with success once all of it is on the disk, as the sender
// forgets it then; to any other answer that is temporary the sender sends it again.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusRequestEntityTooLarge)
		return
	}
	var batch []cloudevents.Event
	if err := json.Unmarshal(body, &batch); err != nil {
		http.Error(w, "the body is not a batch of CloudEvents", http.StatusBadRequest)
		return
	}
	if err := r.take(req.Context(), batch); err != nil {
		log.Print(err)
		http.Error(w, "the batch cannot be stored", http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// take stores the ids, and what is made of the events that are new, in one transaction: a
// receiver that is killed in between has neither or both.
func (r *receiver) take(ctx context.Context, batch []cloudevents.Event) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, e := range batch {
		res, err := tx.ExecContext(ctx, `INSERT INTO received VALUES (?) ON CONFLICT DO NOTHING`, e.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			continue // it came before
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO counts VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1`, e.Resource, e.Type)
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

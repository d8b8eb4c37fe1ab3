package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/listwatch/listwatch/sink"
	"github.com/listwatch/listwatch/sink/postgres"
	"github.com/listwatch/listwatch/sink/sinktest"
)

// TestOpenDoesNotWaitForAFrozenPossessor: the machine of the leader vanishes in the middle of
// a commit, and its connection stays. The locks of that transaction may not keep the next
// leader from the position.
func TestOpenDoesNotWaitForAFrozenPossessor(t *testing.T) {
	schema := fmt.Sprint("frozen ", schemas.Add(1))
	latter := open(t, schema)
	address, frozen := freeze(t, []byte("history"))
	former, err := postgres.Open(t.Context(), "postgres://postgres@"+address+"/postgres?sslmode=disable", postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	scope := sink.Scope{Cluster: "c", Resource: sinktest.Resource}
	pos, _, err := former.Open(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	ctx, give := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	pos.Sequence, pos.Phase, pos.Time = 1, sink.Live, time.Now()
	go func() {
		ended <- former.Commit(ctx, []sink.Record{{ID: "a", Type: sink.Added, Cluster: "c", Resource: "configmaps", Name: "a", UID: "a", Revision: "1", Time: time.Now()}}, pos)
	}()
	<-frozen
	bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, _, err := latter.Open(bounded, scope)
	if err != nil || got.Generation != 2 || got.Sequence != 0 {
		t.Errorf("position %+v, error %v", got, err)
	}
	give()
	if err := <-ended; err == nil {
		t.Error("the frozen commit succeeded")
	}
	former.Close()
}

// freeze serves connections to the database that pass on nothing more once a client has sent
// a text in a statement after the first begin, but stay open.
func freeze(t *testing.T, text []byte) (address string, frozen chan struct{}) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	frozen = make(chan struct{})
	once := sync.OnceFunc(func() { close(frozen) })
	var group sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(db.Dir(), ".s.PGSQL.5432"))
			if err != nil {
				client.Close()
				continue
			}
			mu.Lock()
			open = append(open, client, server)
			mu.Unlock()
			group.Go(func() { io.Copy(client, server) })
			group.Go(func() {
				b, possessed := make([]byte, 1<<16), false
				for {
					n, err := client.Read(b)
					if err != nil {
						return
					}
					possessed = possessed || bytes.Contains(b[:n], []byte("UPDATE "))
					if possessed && bytes.Contains(b[:n], []byte("INSERT INTO")) && bytes.Contains(b[:n], text) {
						once()
						continue
					}
					select {
					case <-frozen:
					default:
						server.Write(b[:n])
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		group.Wait()
	})
	return l.Addr().String(), frozen
}

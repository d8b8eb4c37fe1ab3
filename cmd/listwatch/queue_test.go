package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/listwatch/listwatch/cmd/listwatch/internal/debounce"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/internal/print"
	"github.com/listwatch/listwatch/internal/record"
	"github.com/listwatch/listwatch/internal/table"
	"github.com/listwatch/listwatch/kube"
)

// writeSizes notes how large each is.
type writeSizes struct{ sizes []int }

func (w *writeSizes) Write(b []byte) (int, error) {
	w.sizes = append(w.sizes, len(b))
	return len(b), nil
}

func largeRow(t *testing.T, i, size int) record.Record {
	t.Helper()
	raw, err := codec.ParseRaw(fmt.Appendf(nil, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[{"cells":["a%d",%q],"object":{"metadata":{"name":"a%d"}}}]}`, i, strings.Repeat("x", size), i))
	if err != nil {
		t.Fatal(err)
	}
	return record.Record{Type: "ADDED", Resource: kube.Pods, Object: raw, Columns: &table.Columns{{Name: "Name"}, {Name: "Cell"}}, Initial: true}
}

// TestBatchesAreBoundedInBytes: rows are kept until they are aligned together, and of
// large ones few.
func TestBatchesAreBoundedInBytes(t *testing.T) {
	out := &writeSizes{}
	p := &printer{output: output{format: print.Format{List: true, Headers: true}}, w: out, stop: func(error) {}}
	records := make(chan record.Record, record.RecordBuffer)
	go func() {
		for i := range 20 {
			record.Enqueue(records, largeRow(t, i, 1<<20))
		}
		close(records)
	}()
	if err := p.run(records); err != nil {
		t.Fatal(err)
	}
	if len(out.sizes) < 5 {
		t.Errorf("20 rows of 1 MB are %d writes of %d bytes", len(out.sizes), out.sizes)
	}
}

// TestLargeRecordsWaitForThePrinter: of small ones many may wait, of large ones one.
func TestLargeRecordsWaitForThePrinter(t *testing.T) {
	for size, want := range map[int]int{10: record.RecordBuffer, record.LargeRecord: 0} {
		synctest.Test(t, func(t *testing.T) {
			records := make(chan record.Record, record.RecordBuffer)
			sent := 0
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range 2 * record.RecordBuffer {
					record.Enqueue(records, largeRow(t, i, size))
					sent++
				}
			}()
			synctest.Wait()
			if sent != want {
				t.Errorf("%d records of %d bytes were sent, want %d", sent, size, want)
			}
			for range 2 * record.RecordBuffer {
				r := <-records
				r.Arrived()
			}
			<-done
		})
	}
}

// TestDebouncedLargeRecordsGoOn: the stream waits for the queue, not for the debouncer.
func TestDebouncedLargeRecordsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		records, feed := make(chan record.Record, record.RecordBuffer), make(chan record.Record)
		go func() {
			(&debounce.Debouncer{Wait: time.Hour}).Run(records, feed)
			close(feed)
		}()
		began := time.Now()
		r := largeRow(t, 1, record.LargeRecord)
		r.Initial = false
		record.Enqueue(records, r)
		if d := time.Since(began); d > 0 {
			t.Errorf("the stream waited %v", d)
		}
		close(records)
		for range feed { // what waited
		}
	})
}

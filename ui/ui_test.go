package ui

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/ui/internal/rates"
)

// names of rows with the cell of a column.
func rowsOf(w wireWindow, column int) []string {
	list := []string{}
	for _, r := range w.Rows {
		list = append(list, r.Name+" "+r.Cells[column])
	}
	return list
}

func TestAListShowsTheServersColumns(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("b", "Running")
		w.pod("a10", "Pending")
		w.pod("a9", "Running")
		w.pass(time.Second)
		var got wireWindow
		p.get("api/list?type=pods&sort=name", &got)
		if diff := cmp.Diff([]string{"a10 Pending", "a9 Running", "b Running"}, rowsOf(got, 2)); diff != "" || got.Columns[2].Name != "Status" || got.State != stateLive {
			t.Errorf("%+v (-want +got):\n%s", got.Columns, diff)
		}
		p.get("api/list?type=pods&sort=0&text=run", &got)
		if diff := cmp.Diff([]string{"a9 Running", "b Running"}, rowsOf(got, 2)); diff != "" || got.Matched != 2 || got.Total != 3 {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestAStreamShowsChanges(t *testing.T) {
	inWorld(t, Options{}, func(w *world) {
		p := w.open()
		w.pod("a", "Pending")
		w.pass(time.Second)
		p.post("api/subscribe", `{"client":"client-1","windows":[{"id":"w","type":"pods","sort":"name"}]}`)
		s := p.stream("client-1", "")
		go func() {
			<-time.After(time.Second)
			w.pod("b", "Pending")
			w.pod("a", "Running")
			<-time.After(time.Second)
			w.delete("b")
		}()
		s.read(4 * time.Second)
		if diff := cmp.Diff([]string{"a Running", "b Pending gone"}, s.names("w", 2)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]rates.Counts{"pods": {2, 1, 1}}, s.count); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

package list_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
	"github.com/listwatch/listwatch/list"
)

func TestCursorQuery(t *testing.T) {
	second := func() list.Cursor {
		var c list.Cursor
		c.Page(codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, 1)
		return c
	}
	tests := []struct {
		name string
		cur  list.Cursor
		opts list.Options
		want string
	}{
		{"most recent, in pages", list.Cursor{}, list.Options{}, "limit=500"},
		{"a page size", list.Cursor{}, list.Options{Limit: 7}, "limit=7"},
		{"no pages", list.Cursor{}, list.Options{Limit: -1}, ""},
		{"no pages any more", list.Cursor{Unpaged: true}, list.Options{Limit: 7}, ""},
		{"any revision", list.Cursor{}, list.Options{Revision: "0"}, "limit=500&resourceVersion=0"},
		{"at least a revision: a limit would mean exactly", list.Cursor{}, list.Options{Revision: "9"}, "resourceVersion=9"},
		{"at least a revision, said so", list.Cursor{}, list.Options{Revision: "9", Match: list.NotOlderThan}, "limit=500&resourceVersion=9&resourceVersionMatch=NotOlderThan"},
		{"exactly a revision", list.Cursor{}, list.Options{Revision: "9", Match: list.Exact}, "limit=500&resourceVersion=9&resourceVersionMatch=Exact"},
		{"a token carries the revision", second(), list.Options{Revision: "9", Match: list.Exact}, "continue=tok&limit=500"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.cur.Query(tt.opts).Encode()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCursorExpired(t *testing.T) {
	inMidList := func() (c list.Cursor) {
		c.Page(codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, 1)
		return c
	}
	gone := func(token string) error {
		return &kube.Status{Code: 410, Reason: "Expired", Metadata: kube.StatusMeta{Continue: token}}
	}
	tests := []struct {
		name               string
		cur                list.Cursor
		err                error
		resumed, restarted bool
		query              string
		revision           kube.Revision
	}{
		{"with the server's token it goes on where it stands", inMidList(), gone("other"), true, false, "continue=other&limit=500", "5"},
		{"without one it begins again, in one page", inMidList(), gone(""), false, true, "", ""},
		{"with the same one too", inMidList(), gone("tok"), false, true, "", ""},
		{"on the first page it is none of its business", list.Cursor{}, gone("other"), false, false, "limit=500", ""},
		{"nor is another error", inMidList(), errors.New("refused"), false, false, "continue=tok&limit=500", "5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resumed, restarted := tt.cur.Expired(tt.err)
			if resumed != tt.resumed || restarted != tt.restarted {
				t.Errorf("resumed %v, restarted %v, want %v, %v", resumed, restarted, tt.resumed, tt.restarted)
			}
			if got := tt.cur.Query(list.Options{}).Encode(); got != tt.query {
				t.Errorf("next query %q, want %q", got, tt.query)
			}
			if got := tt.cur.Revision(); got != tt.revision {
				t.Errorf("revision %q, want %q", got, tt.revision)
			}
		})
	}
}

// TestCursorRefusesAPageWithoutARevision: what is missing in it would be reported as deleted.
func TestCursorRefusesAPageWithoutARevision(t *testing.T) {
	for _, token := range []string{"", "more"} {
		var c list.Cursor
		if more, err := c.Page(codec.ListMeta{ResourceVersion: "5", Continue: "tok"}, 1); !more || err != nil {
			t.Fatal(more, err)
		}
		if more, err := c.Page(codec.ListMeta{Continue: token}, 1); more || err == nil {
			t.Errorf("token %q: %t, %v; want an error", token, more, err)
		}
	}
	var c list.Cursor // of a server that has no revisions
	for i := range 3 {
		if more, err := c.Page(codec.ListMeta{Continue: fmt.Sprint("token-", i)}, 1); !more || err != nil {
			t.Fatal(more, err)
		}
	}
}

// TestCursorEndsAListWithoutAnEnd: whatever a server says, the requests for one
// list are limited.
func TestCursorEndsAListWithoutAnEnd(t *testing.T) {
	token := func(i int) string { return fmt.Sprint("token-", i) }
	gone := func(token string) error {
		return &kube.Status{Code: 410, Reason: "Expired", Metadata: kube.StatusMeta{Continue: token}}
	}
	page := func(items int) func(*list.Cursor, int) error {
		return func(c *list.Cursor, i int) error {
			_, err := c.Page(codec.ListMeta{ResourceVersion: "5", Continue: token(i)}, items)
			return err
		}
	}
	expired := func(c *list.Cursor, err error) error {
		if resumed, restarted := c.Expired(err); !resumed && !restarted {
			return err
		}
		return nil
	}
	tests := []struct {
		name   string
		answer func(c *list.Cursor, i int) error
		want   error
		most   int // requests
	}{
		{"the same token", func(c *list.Cursor, i int) error { return page(1)(c, 0) }, list.ErrEndless, 2},
		{"two tokens in turn", func(c *list.Cursor, i int) error { return page(1)(c, i%2) }, list.ErrEndless, 4},
		{"a hundred tokens in turn, after thirty others", func(c *list.Cursor, i int) error { return page(1)(c, min(i, 30)+max(i-30, 0)%100) }, list.ErrEndless, 400},
		{"empty pages", page(0), list.ErrEndless, 1000},
		{"pages of one object", page(1), list.ErrEndless, 1 << 20},
		{"empty pages but for one in a hundred", func(c *list.Cursor, i int) error { return page(max(0, i%100-98))(c, i) }, list.ErrEndless, 1 << 20},
		{"a page, and then every token expires", func(c *list.Cursor, i int) error {
			if i == 0 {
				return page(1)(c, i)
			}
			return expired(c, gone(token(i)))
		}, kube.ErrGone, 4},
		{"every other token expires, and none is offered", func(c *list.Cursor, i int) error {
			if i%2 == 0 {
				return page(1)(c, i)
			}
			return expired(c, gone(""))
		}, kube.ErrGone, 4},
		{"every other token expires, and another one is offered", func(c *list.Cursor, i int) error {
			if i%2 == 0 {
				return page(1)(c, i)
			}
			return expired(c, gone(token(i)))
		}, list.ErrEndless, 2 << 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c list.Cursor
			n := 0
			var err error
			for err == nil && n <= tt.most {
				err = tt.answer(&c, n)
				n++
			}
			if !errors.Is(err, tt.want) || n > tt.most {
				t.Errorf("%d requests, then %v; want at most %d, then %v", n, err, tt.most, tt.want)
			}
		})
	}
}

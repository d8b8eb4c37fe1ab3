package replay_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/listwatch/listwatch/internal/guard"
	"github.com/listwatch/listwatch/replay"
)

// TestResetBehindTheGuard: a connection that was reset is reset, also where it came in
// by the listener of replay --serve.
func TestResetBehindTheGuard(t *testing.T) {
	rec, err := replay.Load(strings.NewReader(`{"t":"header","format":"lwrec","version":1}
{"t":"req","at":1,"id":1,"method":"GET","url":"/a"}
{"t":"resp","at":2,"id":1,"code":200}
{"t":"chunk","at":3,"id":1,"text":"part"}
{"t":"end","at":4,"id":1,"cause":"reset","bytes":4}
`), 0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := guard.Server(t.Context(), replay.NewScript(rec, replay.ScriptOptions{}))
	go func() { _ = srv.Serve(guard.Listen(l, 0)) }()
	t.Cleanup(func() { srv.Close() })
	resp, err := http.Get("http://" + l.Addr().String() + "/a")
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the answer ends by %v", err)
	}
}

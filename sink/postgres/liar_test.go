package postgres_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/listwatch/listwatch/sink/postgres"
)

// liar answers each connection with what, after its first message, until the test ends.
func liar(t *testing.T, what []byte) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				c.Read(make([]byte, 4096))
				c.Write(what)
				io.Copy(io.Discard, c)
			}()
		}
	}()
	return l.Addr().String()
}

// message returns a message of the protocol whose header announces n bytes of body.
func message(kind byte, n int, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(n+4)), body...)
}

// TestMessagesOfAServerAreLimited: what it announces is not allocated.
func TestMessagesOfAServerAreLimited(t *testing.T) {
	at := liar(t, message('E', 256<<20+1, "S"))
	_, err := postgres.Open(t.Context(), "postgres://u@"+at+"/db?sslmode=disable", postgres.Options{})
	if err == nil || !strings.Contains(err.Error(), "at most 268435456") {
		t.Errorf("error %v", err)
	}
}

// TestPasswordThatAServerRepeatsIsNotShown: it asks for the password in clear text.
func TestPasswordThatAServerRepeatsIsNotShown(t *testing.T) {
	const password = "planted/password"
	ask := binary.BigEndian.AppendUint32(message('R', 4, ""), 3)
	said := "SFATAL\x00C28P01\x00Mbad " + password + "\x00D" + password + "\x00\x00"
	at := liar(t, append(ask, message('E', len(said), said)...))
	file := filepath.Join(t.TempDir(), "passfile")
	if err := os.WriteFile(file, []byte("*:*:*:*:"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]struct{ env, value, user, query string }{
		"the URL":    {"PGPASSWORD", "", "u:" + url.QueryEscape(password), ""},
		"PGPASSWORD": {"PGPASSWORD", password, "u", ""},
		"a file":     {"PGPASSFILE", file, "u", ""},
		"the query":  {"PGPASSWORD", "", "u", "&password=" + url.QueryEscape(password)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(from.env, from.value)
			_, err := postgres.Open(t.Context(), "postgres://"+from.user+"@"+at+"/db?sslmode=disable"+from.query, postgres.Options{})
			if err == nil || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "bad (hidden)") {
				t.Fatalf("error %v", err)
			}
			if refused := (*pgconn.PgError)(nil); !errors.As(err, &refused) || refused.Message != "bad (hidden)" || refused.Detail != "(hidden)" {
				t.Errorf("it wraps %+v", refused)
			}
		})
	}
}

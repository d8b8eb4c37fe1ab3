package fake

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/listwatch/listwatch/apitest"
	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/cli"
	"github.com/listwatch/listwatch/cmd/listwatch/internal/messages"
	"github.com/listwatch/listwatch/internal/exit"
	"github.com/listwatch/listwatch/internal/shell"
)

// warn passes on what the server has to say of a file's objects, such as that it
// does not know a field.
func (s *fakeServer) warn(text string) {
	if s.bringing != "" {
		s.talk.Note("warning: " + s.bringing + ": " + text)
	}
}

// fakeClient returns a client of srv.
func fakeClient(srv *apitest.Server, token string, warn func(string)) (*client.Client, error) {
	return client.New(client.Config{Server: srv.URL, Dial: srv.Dial, Token: token, PlainHTTP: true, UserAgent: "listwatch-fake", Warn: warn,
		TLS:   client.TLS{CAData: srv.CAPEM(), ServerName: "localhost"},
		Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
}

// fakeKubeconfig is that of srv. Over http, clients would warn of a user name that
// is not sent, and @kubernetes/client-node connects only if the configuration says
// that nothing is to be verified.
func fakeKubeconfig(srv *apitest.Server) []byte {
	b := srv.Kubeconfig()
	if srv.CAPEM() != nil {
		return b
	}
	b = bytes.Replace(b, []byte("    username: apitest\n"), nil, 1)
	return bytes.Replace(b, []byte("contexts:\n"), []byte("    insecure-skip-tls-verify: true\ncontexts:\n"), 1)
}

// announce writes the kubeconfig and prints where the server is.
func announce(p *cli.Program, srv *apitest.Server, kubeconfig, resource string, t *messages.Writer) error {
	if kubeconfig != "" {
		path, err := filepath.Abs(kubeconfig)
		if err != nil {
			return exit.Failed(err)
		}
		if err := replaceFile(path, func(w io.Writer) error {
			_, err := w.Write(fakeKubeconfig(srv))
			return err
		}); err != nil {
			return exit.Failed(fmt.Errorf("--kubeconfig-out: %w", err))
		}
		t.Info("fake", "export KUBECONFIG="+shell.Quote(path), "kubeconfig", "path", path)
	} else {
		hint := "try: listwatch watch " + resource + " -A -s " + srv.URL
		if srv.CAPEM() != nil {
			hint += " --insecure-skip-tls-verify"
		}
		t.Info("fake", hint, "serving", "url", srv.URL)
	}
	return p.Put(srv.URL + "\n")
}

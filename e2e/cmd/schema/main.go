// Command schema asks a real kube-apiserver what apitest/internal/schema must know, and
// writes it into that package's folder: the schemas and paths of /openapi/v3,
// without texts, and with -update the server's answers to the cases in testdata.
// Run it in the e2e module:
//
//	go run ./cmd/schema            after a move to another Kubernetes version
//	go run ./cmd/schema -update    also after cases were added or changed
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/listwatch/listwatch/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("schema", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "../apitest/internal/schema", "folder of the package")
	update := flags.Bool("update", false, "ask the cases in testdata again")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := generate(ctx, *dir, *update, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "schema:", err)
		return 1
	}
	return 0
}

func generate(ctx context.Context, dir string, update bool, stdout, stderr io.Writer) (err error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: stderr})
	if err != nil {
		return err
	}
	defer func() {
		if serr := c.Stop(); err == nil {
			err = serr
		}
	}()
	s := &server{url: c.URL(), client: c.HTTPClient()}
	if err := writeOpenAPI(ctx, s, filepath.Join(dir, "openapi"), stdout); err != nil {
		return err
	}
	if !update {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := s.answer(ctx, file); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		fmt.Fprintln(stdout, "answered", filepath.Base(file))
	}
	return nil
}

// server is the real one.
type server struct {
	url    string
	client *http.Client
}

// get decodes the JSON at path into v.
func (s *server) get(ctx context.Context, path string, v any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

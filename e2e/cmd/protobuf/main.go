// Command protobuf writes the table of package internal/protojson: what the messages
// of the Kubernetes API look like on the wire and as JSON. It reads both from the
// Go types of the versions in go.mod, by reflection, and is a Go module of its own
// because of them. Run it in its folder:
//
//	go run .           after a move to another Kubernetes version
//	go run . -update   also the pairs in testdata
//	go test .          random objects of all kinds: is the table right?
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("protobuf", flag.ContinueOnError)
	flags.SetOutput(stderr)
	dir := flags.String("dir", "../../../internal/protojson", "folder of the package")
	update := flags.Bool("update", false, "write the pairs in testdata again")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := generate(*dir, *update, stdout); err != nil {
		fmt.Fprintln(stderr, "protobuf:", err)
		return 1
	}
	return 0
}

func generate(dir string, update bool, stdout io.Writer) error {
	b, messages, err := table()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "messages.txt"), b, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d messages, %d bytes\n", messages, len(b))
	if !update {
		return nil
	}
	for _, p := range pairs() {
		wire, text, err := p.encode()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		file := filepath.Join(dir, "testdata", p.name())
		if err := os.WriteFile(file+".pb", wire, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(file+".json", text, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%d pairs\n", len(pairs()))
	return nil
}

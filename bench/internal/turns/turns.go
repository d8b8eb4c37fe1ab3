// Package turns runs a benchmark whose clients are processes of their own that take turns:
// the program starts itself for each of them.
package turns

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
)

// Main runs client with the task in the variable env of the environment, if there is one,
// and measure otherwise. It ends the program if that fails.
func Main[T any](name, env string, client func(context.Context, T) error, measure func(context.Context) error) {
	err := run(env, client, measure)
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

func run[T any](env string, client func(context.Context, T) error, measure func(context.Context) error) error {
	if text := os.Getenv(env); text != "" {
		var task T
		if err := json.Unmarshal([]byte(text), &task); err != nil {
			return err
		}
		return client(context.Background(), task)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return measure(ctx)
}

// Client is a process that does a task, with its standard input and output.
type Client struct {
	*exec.Cmd
	In  io.WriteCloser
	Out *bufio.Reader
}

// Start starts this program as the client of a task, which ends with ctx.
func Start(ctx context.Context, env string, task any) (*Client, error) {
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Client{cmd, in, bufio.NewReader(out)}, cmd.Start()
}

// Part is a part of a benchmark, which writes its table.
type Part struct {
	Name string
	Run  func(context.Context, *strings.Builder) error
}

// Write runs the parts, or only that of a name, and prints what they write after head. It
// also writes the whole into a file, if one is named.
func Write(ctx context.Context, only, file, head string, parts ...Part) error {
	var out strings.Builder
	out.WriteString(head)
	printed := 0
	for _, p := range parts {
		if only != "" && only != p.Name {
			continue
		}
		err := p.Run(ctx, &out)
		fmt.Print(out.String()[printed:])
		if printed = out.Len(); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	if file == "" {
		return nil
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

// Median returns the median of a value of the results; of an even number the upper one.
func Median[T any](all []T, of func(T) float64) float64 {
	var v []float64
	for _, r := range all {
		v = append(v, of(r))
	}
	slices.Sort(v)
	return v[len(v)/2]
}

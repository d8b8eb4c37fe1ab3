// Command pictures draws the pictures of the live page that README.md shows. It builds
// listwatch from the tree, starts "listwatch demo --ui", uses the page in a headless
// Chromium as a person does, and writes docs/images/ui-*.png. The demonstration has a
// story of its own, so this takes two minutes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/listwatch/listwatch/e2e/browser/internal/launch"
)

func main() {
	dir := flag.String("dir", "../../docs/images", "folder of the pictures")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := pictures(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// limit is how many bytes a picture may have.
const limit = 90_000

func pictures(ctx context.Context, dir string) error {
	scratch, err := os.MkdirTemp("", "listwatch-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	program, err := launch.Program(ctx, scratch)
	if err != nil {
		return err
	}
	tab, end, err := launch.Chromium(ctx)
	if err != nil {
		return err
	}
	defer end()
	demo, err := launch.Serve(ctx, program, "demo", "--ui")
	if err != nil {
		return err
	}
	defer demo.Close()
	p := &page{ctx: tab, save: func(name string, shot []byte) error {
		for most := 256; most >= 64; most /= 2 {
			b, err := shrink(shot, most)
			if err != nil {
				return err
			}
			if len(b) > limit {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %d colours, %d bytes\n", name, most, len(b))
			return os.WriteFile(filepath.Join(dir, name), b, 0o644)
		}
		return fmt.Errorf("more than %d bytes with 64 colours", limit)
	}}
	return p.story(demo.URL + "/#token=" + demo.Token + "&type=pods")
}

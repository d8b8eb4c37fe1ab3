// Command pictures records listwatch in a real terminal, which is tmux, and draws the
// recordings as animated SVG: docs/pictures/NAME.cast, an asciicast of version 2, and
// docs/pictures/NAME.svg. Arguments name some of the pictures. With -draw it draws the
// recordings that are there.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("pictures", flag.ContinueOnError)
	flags.SetOutput(stderr)
	draw := flags.Bool("draw", false, "draw the recordings that are there")
	dir := flags.String("dir", "../docs/pictures", "folder of the recordings and pictures")
	if flags.Parse(args) != nil {
		return 2
	}
	for _, s := range scenes {
		if flags.NArg() > 0 && !slices.Contains(flags.Args(), s.name) {
			continue
		}
		if err := picture(ctx, s, *dir, *draw, stderr); err != nil {
			fmt.Fprintf(stderr, "pictures: %s: %v\n", s.name, err)
			return 1
		}
	}
	return 0
}

// picture records a scene, unless only its recording is to be drawn, and draws it.
func picture(ctx context.Context, s scene, dir string, draw bool, stderr io.Writer) error {
	path := filepath.Join(dir, s.name)
	if !draw {
		r, err := record(ctx, s, stderr)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+".cast", r.marshal(), 0o644); err != nil {
			return err
		}
	}
	b, err := os.ReadFile(path + ".cast")
	if err != nil {
		return err
	}
	r, err := parse(b)
	if err != nil {
		return err
	}
	svg := r.svg()
	fmt.Fprintf(stderr, "%s: %d frames, %.0f s, %d KB\n", s.name, len(r.frames), r.length(), len(svg)>>10)
	return os.WriteFile(path+".svg", svg, 0o644)
}

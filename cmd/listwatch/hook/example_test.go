package hook_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/cmd/listwatch/hook"
)

func Example() {
	pool := hook.New(hook.Options{
		Command: []string{"sh", "-c", `echo "$LISTWATCH_EVENT: $(cat)"`},
		Output:  func(label, line string) { fmt.Printf("[%s] %s\n", label, line) },
	})
	go func() {
		pool.Add(hook.Event{Seq: 1, Type: "ADDED", Object: true, Resource: "pods", Name: "a", Label: "pod/a",
			Record: func(e hook.Event) ([]byte, error) { return fmt.Appendf(nil, "{\"name\":%q}\n", e.Name), nil }})
		pool.Close()
	}()
	ctx := context.Background()
	summary, err := pool.Run(ctx, ctx)
	fmt.Println(summary.Runs, err)
	// Output:
	// [pod/a] ADDED: {"name":"a"}
	// 1 <nil>
}

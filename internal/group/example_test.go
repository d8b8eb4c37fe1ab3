package group_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/listwatch/listwatch/internal/group"
)

// The shell and the sleep that it waits for end together.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "sleep 1000; true")
	cmd.WaitDelay = time.Second
	kill := group.Own(cmd)
	err := cmd.Run()
	kill()
	fmt.Println(err != nil, errors.Is(ctx.Err(), context.DeadlineExceeded))
	// Output: true true
}

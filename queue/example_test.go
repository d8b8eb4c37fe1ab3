package queue_test

import (
	"context"
	"fmt"

	"github.com/listwatch/listwatch/queue"
)

// Workers take keys, one each.
func Example() {
	q := queue.New(queue.Options[string, string]{})
	q.Add("a")
	q.Add("b")
	q.Add("a") // stands in the queue already
	q.Close()
	for {
		item, err := q.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(item.Key)
		q.Done(item.Key)
	}
	// Output:
	// a
	// b
	// the queue is closed
}

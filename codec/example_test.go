package codec_test

import (
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/codec"
)

// A pod of one's own: the fields that matter, nothing else is decoded.
type pod struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func ExampleFrames() {
	body := strings.NewReader(`{"type":"ADDED","object":{"metadata":{"name":"web"},"status":{"phase":"Pending"}}}
{"type":"MODIFIED","object":{"metadata":{"name":"web"},"status":{"phase":"Running"}}}
`)
	type event struct {
		Type string
		Pod  pod
	}
	decode := codec.DecoderOf[pod]()
	events := codec.Frames(body, 0, func(f codec.Frame) (event, error) {
		p, err := decode(f.Object)
		return event{f.Type, p}, err
	})
	for e, err := range events {
		fmt.Println(e.Type, e.Pod.Metadata.Name, e.Pod.Status.Phase, err)
	}
	// Output:
	// ADDED web Pending <nil>
	// MODIFIED web Running <nil>
}

func ExampleItems() {
	body := strings.NewReader(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"42"},"items":[{"metadata":{"name":"web"}},{"metadata":{"name":"db"}}]}`)
	meta, items := codec.Items(body, 0)
	for item, err := range items {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", item)
	}
	fmt.Println(meta.Kind, meta.ResourceVersion)
	// Output:
	// {"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}
	// {"kind":"Pod","apiVersion":"v1","metadata":{"name":"db"}}
	// PodList 42
}

func ExampleRaw() {
	raw, err := codec.ParseRaw([]byte(`{"kind":"Pod","metadata":{"name":"web","managedFields":[{"manager":"kubelet"}]},"status":{"phase":"Running"}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var p pod
	err = raw.Decode(&p)
	fmt.Println(raw.GetKind(), raw.GetName(), p.Status.Phase, err)
	fmt.Println(raw.JSON())
	// Output:
	// Pod web Running <nil>
	// {"kind":"Pod","metadata":{"name":"web"},"status":{"phase":"Running"}}
}

func ExampleDecode() {
	_, err := codec.Decode[pod]([]byte(`{"metadata":{"name":"web"},"status":{"phase":["secret"]}}`))
	fmt.Println(err)
	// Output:
	// decode status.phase: array into string
}

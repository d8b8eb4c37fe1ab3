package watch_test

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/listwatch/listwatch/kube"
)

// firm is filled from protobuf.
type firm struct {
	kube.Meta `json:"metadata"`
	Spec      struct {
		Containers []struct {
			Name    string   `json:"name"`
			Command []string `json:"command"`
			Image   string   `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
}

// protobuf reports whether the attack is in protobuf.
func (a attack) protobuf() bool { return strings.HasPrefix(a.name, "protobuf: ") }

// binaryAttacks are those in protobuf. What is mixed is not in one place, so that the
// object is translated.
func binaryAttacks() []attack {
	part := func(number int, parts ...string) string {
		body := strings.Join(parts, "")
		return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number)<<3|2), uint64(len(body)))) + body
	}
	const large = 15 << 20
	fill := func(s string) string { return strings.Repeat(s, large/len(s)) }
	var labels strings.Builder
	for i := 0; labels.Len() < large/2; i++ {
		labels.WriteString(part(11, part(1, fmt.Sprint(i))))
	}
	name := part(1, "a") + part(5, "u") + part(6, "8")
	head := "k8s\x00" + part(1, part(1, "v1"), part(2, "PodList")) + "\x12\xff\xff\xff\xff\xff\xff\xff\x7f"
	all := []attack{{"protobuf: an item without a name", head + "\x12\xff\xff\xff\xff\x7f" + "\x12\xff\xff\xff\xff\x7f", strings.Repeat("x", 1<<20)}}
	for about, o := range map[string]string{
		"containers":        part(1, name) + part(2, fill("\x12\x00")),
		"containers, mixed": part(1, name) + part(2, fill("\x12\x00\x52\x00")),
		"labels":            part(1, name, labels.String()),
		"labels, mixed":     part(1, name, fill("\x5a\x00\x0a\x00")),
		"annotations":       part(1, name, fill("\x62\x00")),
		"finalizers":        part(1, name, strings.Repeat("\x72\x01a", 3<<20)),
		"finalizers, mixed": part(1, name, fill("\x72\x00\x5a\x00")),
		"long texts":        part(1, name, part(12, part(1, "a"), part(2, fill("x")))),
	} {
		event := part(1, "ADDED") + part(2, part(1, "k8s\x00"+part(1, part(1, "v1"), part(2, "Pod"))+part(2, o)))
		all = append(all,
			attack{"protobuf: items: " + about, head, part(2, o)},
			attack{"protobuf: events: " + about, "", string(binary.BigEndian.AppendUint32(nil, uint32(len(event)))) + event})
	}
	return all
}

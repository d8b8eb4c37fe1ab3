package codec_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// verbatim and spelled keep what their methods are given.
type verbatim struct{ Text string }

func (v *verbatim) UnmarshalJSON(b []byte) error {
	v.Text = string(b)
	return nil
}

type spelled struct{ Text string }

func (s *spelled) UnmarshalText(b []byte) error {
	s.Text = string(b)
	return nil
}

type mixture struct {
	kube.Meta `json:"metadata"`
	Name      string               `json:"name"`
	Pointer   *string              `json:"pointer"`
	Time      time.Time            `json:"time"`
	Text      spelled              `json:"text"`
	TextP     *spelled             `json:"textP"`
	Own       verbatim             `json:"own"`
	OwnP      *verbatim            `json:"ownP"`
	Owns      []verbatim           `json:"owns"`
	OwnOf     map[string]*verbatim `json:"ownOf"`
	Raw       json.RawMessage      `json:"raw"`
	Number    json.Number          `json:"number"`
	Quoted    int                  `json:"quoted,string"`
	List      []string             `json:"list"`
	Array     [2]string            `json:"array"`
	Map       map[string]string    `json:"map"`
	Struct    struct{ X string }   `json:"struct"`
}

// TestDecodeAValueThenNullAndHugeNumbers: a member that occurs twice, the second time as
// null, and a number beyond float64 in what decodes itself, are as in encoding/json.
func TestDecodeAValueThenNullAndHugeNumbers(t *testing.T) {
	for _, in := range []string{
		`{"name":"x","name":null}`, `{"pointer":"x","pointer":null}`, `{"time":"2026-01-02T03:04:05Z","time":null}`,
		`{"text":"x","text":null}`, `{"textP":"x","textP":null}`, `{"own":"x","own":null}`, `{"ownP":"x","ownP":null}`,
		`{"raw":"x","raw":null}`, `{"number":1,"number":null}`, `{"quoted":"1","quoted":null}`,
		`{"list":["x"],"list":null}`, `{"list":["x"],"list":[null]}`, `{"array":["x","y"],"array":[null]}`,
		`{"map":{"a":"x"},"map":null}`, `{"map":{"a":"x","a":null}}`, `{"struct":{"X":"x"},"struct":null}`,
		`{"struct":{"X":"x","X":null}}`, `{"metadata":{"name":"x"},"metadata":null}`, `{"metadata":{"name":"x","name":null}}`,
		`{"own":1e400}`, `{"own":{"a":[1e400,-1E999]}}`, `{"ownP":1e400}`, `{"owns":[1e400]}`, `{"ownOf":{"a":1e400}}`,
		`{"raw":1e400}`, `{"number":1e400}`,
	} {
		var want mixture
		if err := json.Unmarshal([]byte(in), &want); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		got, err := codec.Decode[mixture]([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-encoding/json +codec):\n%s", in, diff)
		}
	}
}

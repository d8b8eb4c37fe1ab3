package schema

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/listwatch/listwatch/apitest/internal/merge"
	"github.com/listwatch/listwatch/kube"
)

// MergePatch applies a JSON merge patch (RFC 7396) to original and returns the
// result, which shares nothing with it. The error is a *kube.Status.
func MergePatch(original map[string]any, patch []byte) (map[string]any, error) {
	v, err := Decode(patch)
	if err != nil {
		return nil, badRequest("invalid JSON patch")
	}
	p, ok := v.(map[string]any)
	if !ok {
		return nil, badRequest("error decoding patch: json: cannot unmarshal %s into Go value of type map[string]interface {}", wordOf(v))
	}
	merged := Copy(original)
	if merged == nil {
		merged = map[string]any{}
	}
	merge.JSON(merged, p)
	return merged, nil
}

var (
	errListOfLists = errors.New("lists of lists are not supported")
	errRetainKeys  = errors.New("invalid patch format of retainKeys")
)

// asStatus returns kube-apiserver's Status for an error of a strategic merge.
func asStatus(err error) error {
	switch st := (*kube.Status)(nil); {
	case errors.As(err, &st):
		return st
	case errors.Is(err, errRetainKeys):
		return badRequest("%v", err)
	case errors.Is(err, errListOfLists):
		return rejected()
	}
	return &kube.Status{Code: http.StatusInternalServerError, Message: err.Error()}
}

// rejected is the response to a patch that cannot be applied, for which kube-apiserver
// gives no reason.
func rejected() error {
	return &kube.Status{Code: http.StatusUnprocessableEntity, Reason: "Invalid",
		Message: "the server rejected our request due to an error in our request", Details: &kube.StatusDetails{}}
}

func badRequest(format string, args ...any) error {
	return &kube.Status{Code: http.StatusBadRequest, Reason: "BadRequest", Message: fmt.Sprintf(format, args...)}
}

// goType returns the name of v's type in kube-apiserver's errors.
func goType(v any) string {
	switch v.(type) {
	case nil:
		return "%!s(<nil>)"
	case map[string]any:
		return "map[string]interface {}"
	case []any:
		return "[]interface {}"
	}
	return fmt.Sprintf("%T", v)
}

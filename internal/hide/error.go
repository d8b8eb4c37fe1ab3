package hide

// Error returns err without secrets in its text; errors.Is and errors.As find what err wraps.
func Error(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	if text := Text(err.Error(), secrets); text != err.Error() {
		return &concealed{err, text}
	}
	return err
}

// concealed is an error whose text had a credential.
type concealed struct {
	err  error
	text string
}

func (e *concealed) Error() string { return e.text }

func (e *concealed) Unwrap() error { return e.err }

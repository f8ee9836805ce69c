// The overlay that lists the keys.

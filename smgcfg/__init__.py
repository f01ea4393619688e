"""smgcfg: typed configuration and launcher for TokenSpeed engines behind the smg gateway."""

import digdag


def count(session_date):
    """Arguments are parameters of the task, found by name."""
    digdag.env.store({"counted": len(session_date)})


class Report:
    def show(self, counted):
        print("counted", counted)

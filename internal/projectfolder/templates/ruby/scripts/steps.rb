class Steps
  # Arguments are parameters of the task, found by name.
  def count(session_date)
    Zerodag.env.store(counted: session_date.length)
  end

  def show(counted)
    puts "counted #{counted}"
  end
end

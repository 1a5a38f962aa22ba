"""The questions that people ask of datasets: one public function in each file."""

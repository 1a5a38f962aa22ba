"""Where nammd meets other programs: each module imports their packages when it is used, and not before.

====================  =================================================================================
`prometheus`          the state of a monitor as metrics, in the text format of Prometheus
`events`              what happened in a monitor as lines of JSON, for log pipelines
`alerts`              telling of alarms in the background: a command, or a webhook with retries
`gates`               a tolerance and a reference as a pipeline has them; verdicts as plain values
`dagster`             an asset check
`airflow`             an operator; verdicts are states of its task
`mlflow`              verdicts in a run, tolerances with a model, and a check before it is promoted
`great_expectations`  an expectation
`sklearn`             an estimator of scikit-learn, for pipelines of rows
====================  =================================================================================
"""

package fargate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"zerodag/engine/param"
	"zerodag/internal/border"
	"zerodag/internal/env"
	"zerodag/internal/sandbox"
)

// The containers of a task: the first one fetches the runner program, and the second one uses the commands' image and
// runs that program.
const (
	fetcher = "fetch"
	command = "command"
)

// fetchImage is the default image: a small one with the programs that fetch needs.
const fetchImage = "public.ecr.aws/docker/library/alpine:3.22"

// The volume that both containers share.
const (
	volume = "zerodag"
	folder = "/zerodag"
)

// fetch copies the program to the volume if its digest is correct, along with certificates, which many images lack. If
// the API throttles the machine or is unavailable, it retries for eight minutes, and then reports that by its exit
// code.
const fetch = `set -e
end=$(($(date +%s)+480))
until wget -q -T 15 -O ` + folder + `/runner "$PROGRAM"; do
  [ $(date +%s) -lt $end ] || exit 75
  sleep 5
done
echo "$SHA256  ` + folder + `/runner" | sha256sum -c -
chmod 755 ` + folder + `/runner
cp /etc/ssl/cert.pem ` + folder + `/ca.pem || true
mkdir -p ` + folder + `/work
chmod 711 ` + folder + `/work`

// unreached is the exit code of fetch if the API could not be reached: another machine would currently have the same
// problem.
const unreached = 75

// stopTimeout is the time in seconds that a machine has to end its commands and store their logs.
const stopTimeout = 30

// basicDisk is the default disk size of a task in GiB.
const basicDisk = 20

// registered returns the task definition that a class needs.
func (l *Launcher) registered(c sandbox.Class) *ecs.RegisterTaskDefinitionInput {
	logs := func(prefix string) *types.LogConfiguration {
		return &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{
			"awslogs-group": l.LogGroup, "awslogs-region": l.region, "awslogs-stream-prefix": prefix}}
	}
	mount := []types.MountPoint{{SourceVolume: aws.String(volume), ContainerPath: aws.String(folder)}}
	architecture := types.CPUArchitectureX8664
	if l.Architecture == "arm64" {
		architecture = types.CPUArchitectureArm64
	}
	in := &ecs.RegisterTaskDefinitionInput{
		RequiresCompatibilities: []types.Compatibility{types.CompatibilityFargate}, NetworkMode: types.NetworkModeAwsvpc,
		Cpu: aws.String(strconv.Itoa(c.CPU)), Memory: aws.String(strconv.Itoa(c.Memory)), ExecutionRoleArn: &l.ExecutionRole,
		RuntimePlatform: &types.RuntimePlatform{CpuArchitecture: architecture, OperatingSystemFamily: types.OSFamilyLinux},
		Volumes:         []types.Volume{{Name: aws.String(volume)}}, Tags: l.tags(),
		ContainerDefinitions: []types.ContainerDefinition{
			{Name: aws.String(fetcher), Image: aws.String(l.FetchImage), Essential: aws.Bool(false), User: aws.String("0"),
				EntryPoint: []string{"/bin/sh", "-c"}, Command: []string{fetch}, Environment: variables("SHA256", l.SHA256),
				MountPoints: mount, LogConfiguration: logs(fetcher)},
			{Name: aws.String(command), Image: &c.Image, Essential: aws.Bool(true), User: aws.String("0"), StopTimeout: aws.Int32(stopTimeout),
				EntryPoint: []string{folder + "/runner"}, Command: []string{"run"}, MountPoints: mount, LogConfiguration: logs(command),
				DependsOn: []types.ContainerDependency{{ContainerName: aws.String(fetcher), Condition: types.ContainerConditionSuccess}}},
		},
	}
	if c.Role != "" {
		in.TaskRoleArn = &c.Role
	}
	if c.Disk > basicDisk {
		in.EphemeralStorage = &types.EphemeralStorage{SizeInGiB: int32(c.Disk)}
	}
	return in
}

// definition returns the task definition for a class: one is registered for each image and size, and is found again by
// its name, which is derived from its entire content.
func (l *Launcher) definition(ctx context.Context, c sandbox.Class) (string, error) {
	in := l.registered(c)
	text, err := json.Marshal(in)
	if err != nil {
		return "", fmt.Errorf("encode task definition: %w", err)
	}
	sum := sha256.Sum256(text)
	family := "zerodag-" + l.Stage + "-" + hex.EncodeToString(sum[:])[:env.DefinitionDigest]
	l.mu.Lock()
	arn := l.known[family]
	l.mu.Unlock()
	if arn != "" {
		return arn, nil
	}
	if arn, err = l.find(ctx, family, in); err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[family] = arn
	return arn, nil
}

func (l *Launcher) find(ctx context.Context, family string, in *ecs.RegisterTaskDefinitionInput) (string, error) {
	found, err := l.client.DescribeTaskDefinition(ctx, &ecs.DescribeTaskDefinitionInput{TaskDefinition: &family})
	if err == nil && found.TaskDefinition.Status == types.TaskDefinitionStatusActive {
		return aws.ToString(found.TaskDefinition.TaskDefinitionArn), nil
	}
	if err != nil && border.Code(err) != "ClientException" {
		return "", busy(border.Translate("look up task definition "+family, err))
	}
	in.Family = &family
	made, err := l.client.RegisterTaskDefinition(ctx, in)
	if err != nil {
		if later := busy(border.Translate("register task definition "+family, err)); errors.Is(later, sandbox.ErrBusy) || !isMistake(err) {
			return "", later
		}
		return "", param.Errorf("Fargate rejects the task definition for the image %s: %v", aws.ToString(in.ContainerDefinitions[1].Image), err)
	}
	return aws.ToString(made.TaskDefinition.TaskDefinitionArn), nil
}
